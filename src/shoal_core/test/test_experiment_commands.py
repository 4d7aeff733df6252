"""`shoal simulate`, `shoal campaign` and `shoal view` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

from shoal.cli import app
from shoal.evaluation.metrics import summarise
from shoal.evaluation.run_directory import write_run
from synthetic_runs import make_record

METRICS = {"fov_max_deg", "distance_min_m", "rmse_m", "setpoint_error_rms_m", "tilt_max_deg", "thrust_saturated_share",
           "solve_ms_median", "fallbacks", "real_time_factor"}  # fmt: skip
ODD = "task: synthetic_runs:OddTask\ncontrollers: ['synthetic_runs:Idle']\nduration_s: 4\ncontrol_period_s: 0.1\n"


def shoal(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.slow
def test_simulate_writes_and_shows(tmp_path: Path) -> None:
    code, stdout, _ = shoal("simulate", "--path", "circle", "--fleet", "fosso2023_two", "--duration", "5",
                            "--seed", "3", "--out", tmp_path / "run", "--plot", tmp_path / "run.png")  # fmt: skip
    assert code == 0
    for words in (
        "largest FOV angle",
        "5 s of a test of 200 s: not compared",
        "passed",
        "seed 3",
        "largest tilt",
        "thrust at its limit",
    ):
        assert words in stdout
    assert (tmp_path / "run.png").stat().st_size > 10_000
    assert {p.name for p in (tmp_path / "run").iterdir()} >= {"recording", "summary.json", "timeseries.parquet"}


@pytest.mark.parametrize(("off_m", "code"), [(0.0, 0), (3.0, 3)])
def test_a_run_that_breaks_a_bound_ends_with_code_3(off_m: float, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    record = make_record(duration_s=30.0)
    record.states[:, 0, 1] += off_m
    monkeypatch.setattr("shoal.tasks.run.simulate", lambda *_: record)
    assert shoal("simulate", "--json")[0] == code


@pytest.mark.slow
def test_simulate_json_is_json_and_repeats(tmp_path: Path) -> None:
    runs = [shoal("simulate", "--condition", "ideal", "--path", "line", "--duration", "3", "--json") for _ in range(2)]
    first, second = (json.loads(stdout) for _, stdout, _ in runs)
    assert first["metrics"].keys() >= METRICS
    assert first["code_version"] and (first["path"], first["control_period_s"]) == ("line", 0.05)
    for summary in (first, second):
        for clock in ("wall_s", "real_time_factor", "solve_ms_median", "solve_ms_p99", "solve_ms_max"):
            del summary["metrics"][clock]
    assert first == second


def test_simulate_checks_before_it_computes(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    code, _, stderr = shoal("simulate", "--out", tmp_path)
    assert code == 2 and "holds other files; expected" in stderr
    code, _, stderr = shoal("simulate", "--condition", "stormy")
    assert code == 2 and "'stormy' is unknown; expected" in stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--controller", "pdi"),
            "controller: 'pdi' is unknown; expected a file, your own package.module:Name or one of: autopilot, dompc, ",
        ),
        (("--controller", "nowhere:Mine"), "expected an importable package.module:Name"),
        (
            ("--task", "swim"),
            "task = 'swim': unknown; expected one of follow_path, hold_station",
        ),
        (("--task", "exchange", "--set", "jitter=1"), "jitter = 1: unknown key; expected 'jitter_m'?"),
        (("--set", "controller.weights.position_q=1"), "weights.position_q = 1: unknown key"),
        (("--set", "controller.weights.position_xy=much"), "weights.position_xy = 'much': expected a number"),
        (("--set", "condition.link.los=1"), "--set.link.los: is no key of a condition"),
        (("--set", "speed"), "--set speed: expected KEY=VALUE"),
        (("--metric", "fov"), "metric = 'fov': unknown; expected one of"),
    ],
)
def test_a_wrong_word_is_answered_before_anything_runs(arguments: tuple[str, ...], words: str) -> None:
    code, stdout, stderr = shoal("simulate", *arguments)
    assert code == 2 and not stdout
    assert words in stderr and len(stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_run_that_breaks_a_bound_ends_with_3(tmp_path: Path) -> None:
    """Seed 2 of that task looks away."""
    arguments = (
        "simulate",
        "--task",
        "synthetic_runs:OddTask",
        "--controller",
        "synthetic_runs:Idle",
        "--duration",
        "4",
    )
    assert shoal(*arguments, "--seed", "1")[0] == 0
    code, stdout, _ = shoal(*arguments, "--seed", "2", "--out", tmp_path / "run")
    assert code == 3 and "FAILED: FOV 75." in stdout
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["failed"] is True
    code, stdout, _ = shoal(*arguments, "--seed", "2", "--json")
    assert code == 3 and json.loads(stdout)["failed"] is True


@pytest.mark.slow
def test_tasks_settings_and_metrics_by_name() -> None:
    code, stdout, _ = shoal("simulate", "-t", "exchange", "--fleet", "2", "--set", "jitter_m=0.1", "--duration", "3",
                            "--set", "controller.weights.position_xy=50", "--set", "runtime.lost_s=3", "--seed", "1",
                            "--metric", "test_metrics:DEPTH", "--json")  # fmt: skip
    summary = json.loads(stdout)
    assert summary["task"] == "exchange, jitter_m=0.1" and summary["path"] == ""
    assert summary["controller"] == "nmpc, position_xy=50, lost_s=3"
    assert code == 3 and "not reached: everyone at the opposite point" in summary["failure"]
    assert summary["metrics"]["depth_max_m"]["value"] > 5.5 and "largest depth" in summary["failure"]


@pytest.mark.slow
def test_the_control_period_is_the_fleet_file_s_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the help has it."""
    monkeypatch.setenv("COLUMNS", "300")
    assert "the fleet file's (0.05 s)" in shoal("simulate", "--help")[1]
    for extra, period_s in (((), 0.05), (("--period", "0.1"), 0.1)):
        _, stdout, _ = shoal("simulate", "--duration", "2", "--json", *extra)
        assert json.loads(stdout)["control_period_s"] == period_s


@pytest.mark.slow
def test_campaign_run_resume_report(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"paths: [circle]\nruns: 9\nrecord: none\n{ODD}")
    out = tmp_path / "out"
    code, stdout, _ = shoal("campaign", "run", file, "--runs", "2", "--workers", "1", "--out", out)
    assert code == 0 and "2 runs, 2 made now" in stdout
    code, stdout, _ = shoal("campaign", "run", file, "--runs", "3", "--workers", "1", "--out", out)
    assert code == 0 and "3 runs, 1 made now; failed 1" in stdout
    code, stdout, _ = shoal("campaign", "report", out)
    assert code == 0 and "report.html" in stdout
    text = (out / "summary.md").read_text(encoding="utf-8")
    assert "1 / 3" in text and "synthetic_runs:Idle" in text
    rows = pd.read_parquet(out / "runs.parquet")
    assert set(rows.controller) == {"synthetic_runs:Idle"} and set(rows.task) == {"synthetic_runs:OddTask"}


def test_campaign_mistakes_are_named(tmp_path: Path) -> None:
    code, _, stderr = shoal("campaign", "run", "nope", "--out", tmp_path / "out")
    assert code == 2 and "fosso2023" in stderr
    code, _, stderr = shoal("campaign", "run", "fosso2023", "--record", "everything", "--out", tmp_path / "out")
    assert code == 2 and "record = 'everything'" in stderr
    code, _, stderr = shoal("campaign", "report", tmp_path)
    assert code == 2 and "expected a directory that `shoal campaign run` wrote" in stderr


@pytest.mark.slow
def test_an_unreachable_scheduler_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"paths: [circle]\n{ODD}")
    code, _, stderr = shoal("campaign", "run", file, "--out", tmp_path / "o", "--scheduler", "tcp://127.0.0.1:1")
    assert code == 2 and "--scheduler tcp://127.0.0.1:1" in stderr


def test_view_saves_without_a_display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    record = make_record(duration_s=4.0)
    write_run(record, summarise(record), tmp_path / "run", recording=False)
    code, stdout, _ = shoal("view", tmp_path / "run", "--speed", "40")
    assert code == 0 and "replay.gif" in stdout
    with Image.open(tmp_path / "run" / "replay.gif") as film:
        frames = []
        for k in range(film.n_frames):
            film.seek(k)
            frames.append(np.asarray(film.convert("L"), dtype=float))
    assert len(frames) == 2 and frames[0].std() > 10.0  # drawn, not blank
    assert np.mean(frames[0] != frames[-1]) > 1e-3  # and it moves
    code, _, stderr = shoal("view", tmp_path / "nothing")
    assert code == 2 and "no such directory" in stderr
