"""Campaigns that end before they are done: kill -9 three times over, Ctrl-C, runs that take their process with them."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from shoal.campaigns.runner import run_campaign
from shoal.campaigns.store import Store
from test_campaign import SMALL, written

SCRIPT = """
import sys
from pathlib import Path
from shoal.campaigns.runner import run_campaign
from shoal.campaigns.file import load_campaign

if __name__ == "__main__":
    run_campaign(load_campaign(sys.argv[1]), Path(sys.argv[2]), workers=2)
"""


class Killable:
    """A campaign in its own process group, as a user's shell would start it."""

    def __init__(self, tmp_path: Path, runs: int, record: str = "none") -> None:
        self.tmp_path, self.log = tmp_path, tmp_path / "log"
        self.script = tmp_path / "campaign_script.py"
        self.script.write_text(SCRIPT)
        self.file = written(
            tmp_path,
            f"paths: [circle, line]\nruns: {runs}\nrecord: {record}\ntask: synthetic_runs:OddTask\n"
            "controllers: ['synthetic_runs:Idle']\nduration_s: 4\ncontrol_period_s: 0.1\n",
        )

    def start(self, out: Path, sleep_s: float, ignoring_sigint: bool = False) -> subprocess.Popen[bytes]:
        here = Path(__file__).resolve().parent
        env = os.environ | {
            "SHOAL_TEST_SLEEP_S": str(sleep_s),
            "SHOAL_TEST_LOG": str(self.log),
            "SHOAL_CODE_VERSION": "test",  # someone may commit while this runs
            "PYTHONPATH": os.pathsep.join([str(here), str(here.parent), *sys.path]),
        }
        command = [sys.executable, str(self.script), str(self.file), str(out)]
        if ignoring_sigint:  # as a shell starts a background job
            command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command]
        return subprocess.Popen(command, env=env, start_new_session=True, stderr=subprocess.PIPE)


def rows_in(out: Path) -> set[str]:
    return Store(out).done() if out.is_dir() else set()


def wait_for(condition: object, timeout_s: float = 240.0) -> None:
    assert callable(condition)
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_three_times_and_resumed_is_the_same_data_set(tmp_path: Path) -> None:
    """kill -9 of the campaign process only; its workers must notice by themselves and no finished run is made again."""
    campaign = Killable(tmp_path, runs=30)
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    assert campaign.start(calm, 0.0).wait(timeout=300) == 0
    campaign.log.unlink()
    chance = random.Random(11)
    finished_before: set[str] = set()
    for _ in range(3):
        process = campaign.start(rough, 0.15)
        wait_for(lambda known=len(finished_before): len(rows_in(rough)) > known + 1)
        time.sleep(chance.uniform(0.0, 1.0))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.5)  # let a worker in the middle of a run notice
        assert finished_before < rows_in(rough)
        finished_before = rows_in(rough)
        assert not (rough / "runs.parquet").exists()
    assert len(finished_before) < 60, "the kills came too late to prove anything"
    assert campaign.start(rough, 0.0).wait(timeout=300) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(rough / "runs.parquet"), pd.read_parquet(calm / "runs.parquet"))
    for name in ("runs.parquet", "series.parquet"):
        assert (rough / name).read_bytes() == (calm / name).read_bytes()
    assert len(pd.read_parquet(rough / "runs.parquet")) == 60
    starts = Counter(campaign.log.read_text().splitlines())
    assert len(starts) == 60  # every run was made,
    assert sum(starts.values()) <= 60 + 3 * 2  # and again only what two workers had in hand at three kills


@pytest.mark.slow
@pytest.mark.parametrize("background", [False, True])
def test_ctrl_c_ends_cleanly_and_can_be_resumed(tmp_path: Path, background: bool) -> None:
    """Also where SIGINT was inherited as ignored, as `make test &` does to everything that it starts."""
    campaign, out = Killable(tmp_path, runs=20), tmp_path / "out"
    process = campaign.start(out, 0.5, background)
    wait_for(lambda: len(rows_in(out)) > 1)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) != 0
    left = len(rows_in(out))
    assert left < 40
    time.sleep(1.0)
    assert len(rows_in(out)) == left, "a worker lives on"
    assert campaign.start(out, 0.0).wait(timeout=300) == 0
    assert len(pd.read_parquet(out / "runs.parquet")) == 40


@pytest.mark.slow
def test_a_run_that_takes_its_process_with_it_is_a_crashed_row(tmp_path: Path) -> None:
    update = {"task_settings": {"deadly": True}, "paths": ("circle",), "conditions": ("default",)}
    campaign = SMALL.model_copy(update=update)
    outcome = run_campaign(campaign, tmp_path / "out", workers=2)
    rows = pd.read_parquet(tmp_path / "out" / "runs.parquet")
    assert (outcome.asked, outcome.made, outcome.crashed) == (4, 4, 1)
    assert rows[rows.crashed].seed.tolist() == [1]
    assert "worker process died" in rows[rows.crashed].failure.item()


@pytest.mark.slow
def test_worst_runs_are_recorded_and_progress_is_reported(tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    campaign = SMALL.model_copy(update={"record": "worst", "conditions": ("default",), "fleets": ("fosso2023_two",)})
    outcome = run_campaign(campaign, tmp_path / "out", workers=1, progress=lambda *now: seen.append(now))
    assert outcome.made == 8 and outcome.crashed == 1 and outcome.failed == 4
    assert (8, 8, "runs") in seen and seen[-1][2].startswith("recordings")
    rows = pd.read_parquet(tmp_path / "out" / "runs.parquet").set_index("key")
    kept = [p.name for p in (tmp_path / "out" / "recordings").iterdir()]
    assert {(rows.path[k], int(rows.seed[k])) for k in kept} == {("circle", 2), ("line", 2)}
    about = json.loads((tmp_path / "out" / "campaign.json").read_text())
    assert about["jobs"] == 8 and about["campaign"]["paths"] == ["circle", "line"]
    again = run_campaign(campaign, tmp_path / "out", workers=1, retry_crashed=True)
    assert again.made == 1
