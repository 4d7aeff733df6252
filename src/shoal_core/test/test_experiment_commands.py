"""`shoal simulate`, `shoal campaign` and `shoal view` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli import app
from shoal.evaluation.metrics import summarise
from shoal.evaluation.run_directory import write_run
from synthetic_runs import make_record

KEYS = {"fov_max_deg", "fov_failed", "distance_min_m", "distance_failed", "time_shift_s", "rmse_m", "solve_ms",
        "fallbacks", "real_time_factor", "duration_s", "seed"}  # fmt: skip


def shoal(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.slow
def test_simulate_writes_and_tells(tmp_path: Path) -> None:
    code, stdout, _ = shoal("simulate", "--path", "circle", "--duration", "5", "--seed", "3", "--out", tmp_path / "run")
    assert code == 0
    for words in ("largest FOV angle", "5.22 % of runs lost sight", "10.13, 11.86, 3.99", "passed", "seed 3"):
        assert words in stdout
    assert {p.name for p in (tmp_path / "run").iterdir()} >= {"recording", "summary.json", "timeseries.parquet"}


@pytest.mark.slow
def test_simulate_json_is_json_and_repeats(tmp_path: Path) -> None:
    runs = [shoal("simulate", "--condition", "ideal", "--path", "line", "--duration", "3", "--json") for _ in range(2)]
    first, second = (json.loads(stdout) for _, stdout, _ in runs)
    assert first.keys() >= KEYS and len(first["time_shift_s"]) == 3
    assert first["code_version"]
    for summary in (first, second):
        for clock in ("wall_s", "real_time_factor", "solve_ms"):
            del summary[clock]
    assert first == second


def test_simulate_checks_before_it_computes(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    code, _, stderr = shoal("simulate", "--out", tmp_path)
    assert code == 2 and "holds other files; expected" in stderr
    code, _, stderr = shoal("simulate", "--condition", "stormy")
    assert code == 2 and "'stormy' is unknown; expected" in stderr


@pytest.mark.slow
def test_campaign_run_resume_report(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("paths: [circle]\nruns: 9\nsimulate: synthetic_runs:fake_simulate\nrecord: none\n")
    out = tmp_path / "out"
    code, stdout, _ = shoal("campaign", "run", file, "--runs", "2", "--workers", "1", "--out", out)
    assert code == 0 and "2 runs, 2 made now" in stdout
    code, stdout, _ = shoal("campaign", "run", file, "--runs", "3", "--workers", "1", "--out", out)
    assert code == 0 and "3 runs, 1 made now; failed 1" in stdout
    code, stdout, _ = shoal("campaign", "report", out)
    assert code == 0 and "report.html" in stdout
    assert "1 / 3" in (out / "summary.md").read_text(encoding="utf-8")


def test_campaign_mistakes_are_told(tmp_path: Path) -> None:
    code, _, stderr = shoal("campaign", "run", "nope", "--out", tmp_path / "out")
    assert code == 2 and "thesis" in stderr
    code, _, stderr = shoal("campaign", "run", "thesis", "--record", "everything", "--out", tmp_path / "out")
    assert code == 2 and "record = 'everything'" in stderr
    code, _, stderr = shoal("campaign", "report", tmp_path)
    assert code == 2 and "expected a directory that `shoal campaign run` wrote" in stderr


@pytest.mark.slow
def test_an_unreachable_scheduler_is_told(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("paths: [circle]\nsimulate: synthetic_runs:fake_simulate\n")
    code, _, stderr = shoal("campaign", "run", file, "--out", tmp_path / "o", "--scheduler", "tcp://127.0.0.1:1")
    assert code == 2 and "--scheduler tcp://127.0.0.1:1" in stderr


def test_view_saves_without_a_display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    record = make_record(duration_s=4.0)
    write_run(record, summarise(record), tmp_path / "run", recording=False)
    code, stdout, _ = shoal("view", tmp_path / "run", "--speed", "40")
    assert code == 0 and "replay.gif" in stdout
    assert (tmp_path / "run" / "replay.gif").stat().st_size > 1000
    code, _, stderr = shoal("view", tmp_path / "nothing")
    assert code == 2 and "no such directory" in stderr
