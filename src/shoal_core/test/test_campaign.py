"""Campaigns: which runs, their keys, crashes, locks; and kill -9 three times over, then the same data set."""

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

from shoal.campaigns.file import Campaign, campaign_jobs, load_campaign
from shoal.campaigns.job import Job, fleet_hash
from shoal.campaigns.runner import run_campaign
from shoal.campaigns.series import series_table
from shoal.campaigns.store import Store
from shoal.campaigns.worker import Task, describe, run_task
from shoal.config.files import list_configs
from shoal.errors import ShoalError
from shoal.messages.state import ATTITUDE, POSITION
from shoal.simulation.conditions import load_condition
from synthetic_runs import make_record

FAKE = "synthetic_runs:fake_simulate"
SMALL = Campaign(name="small", paths=("circle", "line"), conditions=("default", "loss_70"), runs=4, simulate=FAKE,
                 record="none")  # fmt: skip


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def in_this_process(campaign: Campaign, out: Path) -> Store:
    """All runs without a cluster: the same worker function, called in a loop."""
    store = Store(out)
    store.create()
    for job in campaign_jobs(campaign):
        run_task(Task(job.key(), job, out, "test", campaign.first_seed, campaign.record))
    store.compact()
    return store


class TestFile:
    def test_thesis_has_44_cells_and_the_reference_s_conditions(self) -> None:
        campaign = load_campaign("thesis")
        assert len({job.cell for job in campaign_jobs(campaign.model_copy(update={"runs": 1}))}) == 44
        assert campaign.runs >= 20

    def test_appendix_e_holds_what_the_table_does_not(self) -> None:
        both = {*load_campaign("thesis").conditions, *load_campaign("appendix_e").conditions}
        assert both == set(list_configs("conditions"))
        assert load_campaign("appendix_e").runs >= 5

    def test_seeds_come_in_rounds(self) -> None:
        jobs = campaign_jobs(SMALL.model_copy(update={"first_seed": 7}))
        assert [job.seed for job in jobs[:5]] == [7, 7, 7, 7, 8]
        assert len(jobs) == 16 and len({job.key() for job in jobs}) == 16

    def test_a_free_list_and_conditions_in_place(self, tmp_path: Path) -> None:
        file = written(tmp_path, """
cells:
  - {path: circle, condition: {name: windy, environment: {currents: [{kind: constant, velocity_mps: [1, 0, 0]}]}}}
  - {path: torus, fleet: 3, controller: dompc, duration_s: 12}
runs: 2
""")  # fmt: skip
        jobs = campaign_jobs(load_campaign(file))
        assert [(j.path, j.condition.name, j.fleet, j.controller, j.duration_s, j.seed) for j in jobs[:2]] == [
            ("circle", "windy", "2", "nmpc", None, 0),
            ("torus", "default", "3", "dompc", 12.0, 0),
        ]

    def test_vary_makes_every_combination(self, tmp_path: Path) -> None:
        file = written(tmp_path, "paths: [circle]\nvary: {link.delay_s: [0, 0.1], link.loss: [0, 0.3, 0.6]}\nruns: 1\n")
        jobs = campaign_jobs(load_campaign(file))
        assert len(jobs) == 6
        assert {(j.condition.link.delay_s, j.condition.link.loss) for j in jobs} >= {(0.1, 0.6), (0.0, 0.0)}
        assert "default, delay_s=0.1, loss=0.3" in {j.condition.name for j in jobs}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("runs: 3", "no paths and no cells; expected"),
            ("paths: [circle]\nruns: 0", "runs = 0"),
            ("paths: [circle]\nconditions: [nope]", "'nope' is unknown; expected"),
            ("paths: [circle]\nvary: {link.los: [1]}", "link.los: is no key of a condition; expected"),
            ("paths: [circle]\nvary: {link.loss: [7]}", "link.loss = 7"),
            ("paths: [circle]\nconditions: [{link: {loss: 1}}]", "has no name; expected"),
            ("paths: [circle]\nworkers: 4", "unknown key"),
        ],
    )
    def test_mistakes_are_told(self, tmp_path: Path, text: str, words: str) -> None:
        with pytest.raises(ShoalError) as caught:
            campaign_jobs(load_campaign(written(tmp_path, text)))
        assert words in str(caught.value)

    def test_a_simulator_that_is_not_there_is_told_before_anything_runs(self, tmp_path: Path) -> None:
        with pytest.raises(ShoalError, match="expected an importable"):
            run_campaign(SMALL.model_copy(update={"simulate": "nowhere:nothing"}), tmp_path / "out")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("text", ["paths: [sqare]", "paths: [circle]\nfleets: [tow]"])
    def test_a_misspelt_path_or_fleet_stops_the_campaign(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(ShoalError, match="expected"):
            run_campaign(load_campaign(written(tmp_path, text)), tmp_path / "out")
        assert not (tmp_path / "out").exists()


class TestKey:
    def test_depends_on_all_that_decides_a_run(self) -> None:
        base = Job("circle", "2", load_condition("default"), 0)
        others = [
            Job("torus", "2", load_condition("default"), 0),
            Job("circle", "3", load_condition("default"), 0),
            Job("circle", "2", load_condition("loss_50"), 0),
            Job("circle", "2", load_condition("default"), 1),
            Job("circle", "2", load_condition("default"), 0, controller="dompc"),
            Job("circle", "2", load_condition("default"), 0, duration_s=3.0),
        ]
        assert len({job.key() for job in [base, *others]}) == 7
        assert base.key() == Job("circle", "2", load_condition("default"), 0).key()

    def test_sees_into_files(self, tmp_path: Path) -> None:
        keys = []
        for folder, text in (("a", "waypoints: 1"), ("b", "waypoints: 2")):
            (tmp_path / folder).mkdir()
            keys.append(Job(str(written(tmp_path / folder, text)), "2", load_condition("default"), 0).key())
        assert keys[0] != keys[1]

    def test_sees_into_the_fleet_behind_a_number(self) -> None:
        assert fleet_hash("2") and fleet_hash("2") != fleet_hash("3")
        assert fleet_hash("no_such_fleet") == ""


class TestRows:
    def test_crash_and_failure_are_rows_with_reasons(self, tmp_path: Path) -> None:
        rows = in_this_process(SMALL, tmp_path).read_rows().to_pandas()
        assert len(rows) == 16
        crashed = rows[rows.crashed]
        assert set(crashed.path) == {"line"} and set(crashed.seed) == {3} and crashed.failed.all()
        assert crashed.failure.str.contains("FloatingPointError: hand-made crash").all()
        lost = rows[rows.fov_failed & ~rows.crashed]
        assert set(lost.seed) == {2} and lost.fov_max_deg.between(75.0, 77.0).all()
        assert not rows[rows.seed < 2].failed.any()

    def test_reasons_tell_no_folders(self) -> None:
        text = describe(ValueError("/home/me/shoal/config/fleets/two.yaml: mass_kg = 3 m/s, and/or ./x/y\nsecond line"))
        assert text == "ValueError: two.yaml: mass_kg = 3 m/s, and/or ./x/y"

    def test_done_runs_are_not_made_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        in_this_process(SMALL, tmp_path / "out")
        monkeypatch.setenv("SHOAL_TEST_LOG", str(tmp_path / "log"))
        in_this_process(SMALL.model_copy(update={"runs": 5}), tmp_path / "out")
        assert len((tmp_path / "log").read_text().splitlines()) == 4  # the fifth seed of four cells

    def test_rows_of_an_older_condition_stay_out_of_the_data_set(self, tmp_path: Path) -> None:
        store = in_this_process(SMALL, tmp_path)
        windy = {"name": "default", "link": {"loss": 0.1}}
        changed = SMALL.model_copy(update={"conditions": (windy, "loss_70")})
        store.write_json("campaign.json", {"keys": [job.key() for job in campaign_jobs(changed)]})
        assert store.read_rows().num_rows == 8  # only loss_70 is as it was
        in_this_process(changed, tmp_path)
        assert (store.read_rows().num_rows, len(store.done())) == (16, 24)

    def test_the_data_set_is_sorted_as_a_reader_expects(self, tmp_path: Path) -> None:
        frame = pd.read_parquet(in_this_process(SMALL, tmp_path).folder / "runs.parquet")
        order = list(zip(frame.path, frame.condition, frame.seed, strict=True))
        assert order == sorted(order) and order[4] == ("circle", "loss_70", 0)

    def test_the_data_set_has_no_wall_clock_in_it(self, tmp_path: Path) -> None:
        first = in_this_process(SMALL, tmp_path / "a").folder
        time.sleep(1.1)
        second = in_this_process(SMALL, tmp_path / "b").folder
        for name in ("runs.parquet", "series.parquet"):
            assert (first / name).read_bytes() == (second / name).read_bytes()
        timing = [pd.read_parquet(f / "timing.parquet") for f in (first, second)]
        assert not timing[0].equals(timing[1])

    def test_decimation_keeps_short_excursions(self) -> None:
        record = make_record(duration_s=20.0)
        states = record.states.copy()
        states[137, 0, ATTITUDE] = [0.0, 0.0, 0.0, 1.0]  # looks away for a tenth of a second
        states[151, 0, POSITION] = states[151, 1, POSITION] + [-0.5, 0.0, 0.0]
        record.states[:] = states
        frame = series_table("k", record, 5.0).to_pandas()
        assert frame.t_s.tolist() == [0.0, 5.0, 10.0, 15.0, 20.0]
        assert frame.fov_max_deg.tolist() == pytest.approx([0, 0, 180, 0, 0], abs=1e-3)
        assert frame.distance_min_m.tolist() == pytest.approx([2, 2, 2, 0.5, 2])
        assert len(frame.vehicles_m[0]) == 6

    def test_half_written_files_do_not_count_and_are_swept(self, tmp_path: Path) -> None:
        store = in_this_process(SMALL, tmp_path)
        (store.rows / ".tmp-1-abc.parquet").write_bytes(b"half")
        assert len(store.done()) == 16
        with store.locked():
            assert not list(store.rows.glob(".tmp-*"))
        assert store.compact().num_rows == 16

    def test_two_campaigns_do_not_share_a_directory(self, tmp_path: Path) -> None:
        store = in_this_process(SMALL, tmp_path)
        with (
            store.locked(),
            pytest.raises(ShoalError, match="another campaign"),
            Store(tmp_path).locked(),
        ):
            pass

    def test_a_directory_of_something_else_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("precious")
        with pytest.raises(ShoalError, match="holds other files; expected"):
            run_campaign(SMALL, tmp_path)

    @pytest.mark.parametrize(("record", "kept"), [("none", set()), ("first", {0}), ("failed", {2}), ("all", {0, 1, 2})])
    def test_recordings_by_choice(self, tmp_path: Path, record: str, kept: set[int]) -> None:
        campaign = SMALL.model_copy(
            update={"record": record, "paths": ("circle",), "conditions": ("default",), "runs": 3}
        )
        store = in_this_process(campaign, tmp_path)
        rows = store.read_rows().to_pandas().set_index("key")
        folders = [p.name for p in store.recordings.glob("*")]
        assert {int(rows.seed[name]) for name in folders} == kept
        assert all((store.recordings / name / "recording" / "recording.mcap").is_file() for name in folders)


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
        self.file = written(tmp_path, f"paths: [circle, line]\nruns: {runs}\nsimulate: {FAKE}\nrecord: {record}\n")

    def start(self, out: Path, sleep_s: float) -> subprocess.Popen[bytes]:
        here = Path(__file__).resolve().parent
        env = os.environ | {
            "SHOAL_TEST_SLEEP_S": str(sleep_s),
            "SHOAL_TEST_LOG": str(self.log),
            "SHOAL_CODE_VERSION": "test",  # someone may commit while this runs
            "PYTHONPATH": os.pathsep.join([str(here), str(here.parent), *sys.path]),
        }
        return subprocess.Popen([sys.executable, str(self.script), str(self.file), str(out)], env=env,
                                start_new_session=True, stderr=subprocess.PIPE)  # fmt: skip


def rows_in(out: Path) -> set[str]:
    return Store(out).done() if out.is_dir() else set()


def wait_for(condition: object, timeout_s: float = 60.0) -> None:
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
    assert campaign.start(calm, 0.0).wait(timeout=120) == 0
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
    assert campaign.start(rough, 0.0).wait(timeout=120) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(rough / "runs.parquet"), pd.read_parquet(calm / "runs.parquet"))
    for name in ("runs.parquet", "series.parquet"):
        assert (rough / name).read_bytes() == (calm / name).read_bytes()
    assert len(pd.read_parquet(rough / "runs.parquet")) == 60
    starts = Counter(campaign.log.read_text().splitlines())
    assert len(starts) == 60  # every run was made,
    assert sum(starts.values()) <= 60 + 3 * 2  # and again only what two workers had in hand at three kills


@pytest.mark.slow
def test_ctrl_c_ends_cleanly_and_can_be_resumed(tmp_path: Path) -> None:
    campaign, out = Killable(tmp_path, runs=20), tmp_path / "out"
    process = campaign.start(out, 0.5)
    wait_for(lambda: len(rows_in(out)) > 1)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=20) != 0
    left = len(rows_in(out))
    assert left < 40
    time.sleep(1.0)
    assert len(rows_in(out)) == left, "a worker lives on"
    assert campaign.start(out, 0.0).wait(timeout=120) == 0
    assert len(pd.read_parquet(out / "runs.parquet")) == 40


@pytest.mark.slow
def test_a_run_that_takes_its_process_with_it_is_a_crashed_row(tmp_path: Path) -> None:
    campaign = SMALL.model_copy(
        update={"simulate": "synthetic_runs:deadly_simulate", "paths": ("circle",), "conditions": ("default",)}
    )
    outcome = run_campaign(campaign, tmp_path / "out", workers=2)
    rows = pd.read_parquet(tmp_path / "out" / "runs.parquet")
    assert (outcome.asked, outcome.made, outcome.crashed) == (4, 4, 1)
    assert rows[rows.crashed].seed.tolist() == [1]
    assert "worker process died" in rows[rows.crashed].failure.item()


@pytest.mark.slow
def test_worst_runs_are_recorded_and_progress_is_told(tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    campaign = SMALL.model_copy(update={"record": "worst", "conditions": ("default",)})
    outcome = run_campaign(campaign, tmp_path / "out", workers=1, progress=lambda *now: seen.append(now))
    assert outcome.made == 8 and outcome.crashed == 1 and outcome.failed == 3
    assert (8, 8, "runs") in seen and seen[-1][2].startswith("recordings")
    rows = pd.read_parquet(tmp_path / "out" / "runs.parquet").set_index("key")
    kept = [p.name for p in (tmp_path / "out" / "recordings").iterdir()]
    assert {(rows.path[k], int(rows.seed[k])) for k in kept} == {("circle", 2), ("line", 2)}
    about = json.loads((tmp_path / "out" / "campaign.json").read_text())
    assert about["jobs"] == 8 and about["campaign"]["paths"] == ["circle", "line"]
    again = run_campaign(campaign, tmp_path / "out", workers=1, retry_crashed=True)
    assert again.made == 1
