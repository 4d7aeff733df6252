"""docs/results: tables from the campaigns' data only, of commits that are in this history; the time it takes."""

from __future__ import annotations

import io
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.campaigns.file import load_campaign
from shoal.campaigns.job import Job
from shoal.campaigns.results import SEEDS, durations_s, estimate_s, missing, parts, source_state
from shoal.campaigns.rows import summary_row
from shoal.campaigns.store import Store
from shoal.commands._progress import Pace, Progress, duration_words
from shoal.config.files import list_configs
from shoal.errors import ShoalError
from shoal.evaluation.metrics import METRICS, summarise
from shoal.reports.results_page import BEGIN, END, commit_of, results_section, write_results
from shoal.tasks.run import RunSpec
from synthetic_runs import make_record

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "docs" / "results" / "README.md"


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=30)
    except OSError:
        pytest.skip("no git")


def table_commits() -> list[str]:
    body = README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    lines = re.findall(r"^Commit (.*?), \d{4}-", body, flags=re.M)
    assert len(lines) == len(re.findall(r"^## ", body, flags=re.M)), "a table without its commit"
    return [commit for line in lines for commit in re.findall(r"`([^`]*)`", line)]


def test_every_table_s_commit_is_an_ancestor_of_this_code() -> None:
    if (
        git("rev-parse", "HEAD").returncode != 0
        or git("rev-parse", "--is-shallow-repository").stdout.strip() != "false"
    ):
        pytest.skip("no whole git history here")
    for commit in table_commits():
        assert git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0, f"{commit} is not in this history"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two controllers, three seeds; pid loses its place once. One run of the seven asked for is missing."""
    made = Store(tmp_path / "small")
    made.create()
    about = {"campaign": {"name": "small", "description": "A small one."}, "jobs": 7,
             "metrics": [m.info.model_dump(mode="json") for m in METRICS]}  # fmt: skip
    made.write_json("campaign.json", about)
    for controller in ("pid", "nmpc"):
        for seed in range(3):
            off = 0.6 if (controller, seed) == ("pid", 1) else 0.01
            record = make_record(seed=seed, duration_s=30.0, about={"controller": controller})
            record.states[:, :, 1] += [[off, -2 * off]]
            summary = summarise(replace(record, about=replace(record.about, code_version="0.1.0+gabcdef012345")))
            stamp = {"machine": "a processor, 2 logical cores", "finished_utc": "2026-11-18T01:02:03+00:00"}
            made.put(summary_row(summary, f"{controller}{seed}") | stamp, None)
    return made


def test_a_table_says_what_it_is_of_and_holds_the_worst_runs(store: Store) -> None:
    text = results_section(store.folder)
    assert "Commit `abcdef012345`, 2026-11-18, a processor, 2 logical cores; seeds 0–2, **6 of 7 runs**" in text
    head, nmpc, pid = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|") and "---" not in line
    )
    assert (nmpc[:4], pid[:4]) == (["default", "nmpc", "3", "0 / 3"], ["default", "pid", "3", "1 / 3"])
    assert pid[head.index("left their places")] == "1 / 3"
    assert pid[head.index("own error RMS [m]")] == "1.200" and pid[head.index("path error RMS, settled [m]")] == "0.300"
    assert nmpc[head.index("own error RMS [m]")] == "0.020"


def test_a_page_keeps_what_is_not_made_anew(store: Store, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"# Results\nby people\n{BEGIN}\n## other\nkept\n\n## small\nold\n{END}\nafter\n", encoding="utf-8")
    write_results(page, {"small": results_section(store.folder)})
    text = page.read_text(encoding="utf-8")
    assert "by people" in text and "kept" in text and text.endswith("after\n") and "\nold\n" not in text
    once = text
    write_results(page, {"small": results_section(store.folder)})
    assert page.read_text(encoding="utf-8") == once
    page.write_text("# Results\n", encoding="utf-8")
    with pytest.raises(ShoalError, match="has no marks"):
        write_results(page, {})


def test_uncommitted_code_has_no_commit_of_its_own(tmp_path: Path) -> None:
    assert commit_of("0.1.0+gabcdef0.dirty") == "abcdef0.dirty"
    assert source_state(tmp_path)[1] is False  # no checkout: nothing to compare with


def test_all_shipped_campaigns_are_in_it_with_the_seeds_promised() -> None:
    chosen = parts()
    assert {part.name for part in chosen} == set(list_configs("campaigns"))
    seeds = {part.name: len({job.spec.seed for job in part.jobs}) for part in chosen}
    assert seeds["fosso2023"] >= 20 and seeds["exchange"] >= 5 and seeds["recovery"] >= 200 and seeds["appendix_e"] >= 3
    assert {load_campaign(name).name for name in SEEDS} == set(SEEDS)
    assert all(len({job.spec.seed for job in part.jobs}) == 1 for part in parts(["exchange", "pid"], runs=1))
    assert not any(part.sample for part in chosen)
    assert parts(["recovery"], runs=20)[0].sample == "**Reduced sample**: 20 of 200 seeds."


def test_the_estimate_adds_up_durations_by_fleet_and_controller_and_leaves_out_what_is_done(tmp_path: Path) -> None:
    part = parts(["recovery"], runs=4)[0]
    assert set(durations_s(part.jobs)) == {30.0}
    speed = {"nmpc": 0.1, "pid": 0.01}
    seconds = estimate_s(part.jobs, 2, lambda job: speed[job.controller.controller])
    assert seconds == pytest.approx(1.2 * 4 * 30.0 * 0.11 / 2)
    store = Store(tmp_path)
    store.create()
    (store.rows / f"{part.jobs[0].key()}.parquet").touch()
    assert len(missing(part, tmp_path)) == 7
    assert durations_s([Job(RunSpec("circle"))]) == [200.0]


class TestProgress:
    def test_time_to_go_is_steady_though_runs_come_in_bursts(self) -> None:
        pace = Pace(0.0)
        pace.update(0.0, 40)  # from an earlier session: not this one's pace
        said = []
        for done in range(1, 101):
            now = 20.0 * ((done + 1) // 2)  # two workers, two runs every 20 s
            pace.update(now, 40 + done)
            if done >= 10:
                said.append(pace.to_go_s(now, 240) + now)  # type: ignore[operator]
        assert max(said) / min(said) < 1.12

    def test_nothing_is_said_of_the_time_before_there_is_a_pace(self) -> None:
        pace = Pace(0.0)
        pace.update(5.0, 0)
        assert pace.to_go_s(9.0, 10) is None

    def test_one_line_a_minute_without_a_terminal(self) -> None:
        now, stream = [0.0], io.StringIO()
        with Progress("small", lambda: now[0], stream) as progress:
            progress.update(15, 220, "runs")
            for done in range(16, 221):
                now[0] += 5.0
                progress.update(done, 220, "runs")
        lines = stream.getvalue().splitlines()
        assert lines[0] == "small runs: 15 of 220, 0 s so far" and len(lines) == 2 + 1025 // 60
        assert lines[1] == "small runs: 27 of 220, 60 s so far, about 16 min to go"
        assert lines[-1] == "small runs: 220 of 220, 17 min so far"

    def test_durations_in_words(self) -> None:
        assert [duration_words(s) for s in (45, 600, 12_000)] == ["45 s", "10 min", "3 h 20 min"]
