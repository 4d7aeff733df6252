"""Campaigns: which runs, their keys, names and rows, crashes, locks."""

from __future__ import annotations

import os
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
from shoal.campaigns.worker import WorkItem, describe, run_item
from shoal.config.files import find_config, list_configs
from shoal.control.registry import load_controller_file
from shoal.errors import ShoalError
from shoal.fleet.file import Fleet
from shoal.fleet.generate import resolve_fleet
from shoal.messages.state import ATTITUDE, POSITION
from shoal.tasks.run import RunSpec
from synthetic_runs import make_record

ODD = {"task": "synthetic_runs:OddTask", "controllers": ("synthetic_runs:Idle",), "duration_s": 4.0,
       "control_period_s": 0.1}  # fmt: skip
SMALL = Campaign(
    name="small", paths=("circle", "line"), conditions=("default", "loss_70"), runs=4, record="none", **ODD
)


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def in_this_process(campaign: Campaign, out: Path) -> Store:
    """All runs without a cluster: the same worker function, called in a loop."""
    store = Store(out)
    store.create()
    for job in campaign_jobs(campaign):
        run_item(WorkItem(job.key(), job, out, "test", campaign.first_seed, campaign.record))
    store.compact()
    return store


class TestFile:
    def test_fosso2023_has_44_cells_and_the_reference_s_conditions(self) -> None:
        campaign = load_campaign("fosso2023")
        cells = {job.cell for job in campaign_jobs(campaign.model_copy(update={"runs": 1}))}
        assert len(cells) == 2 * 44 and {cell[-1] for cell in cells} == {"nmpc", "pid"}
        assert campaign.runs >= 20

    def test_appendix_e_holds_what_the_table_does_not(self) -> None:
        both = {*load_campaign("fosso2023").conditions, *load_campaign("appendix_e").conditions}
        assert both <= set(list_configs("conditions"))
        assert not set(load_campaign("fosso2023").conditions) & set(load_campaign("appendix_e").conditions)
        assert load_campaign("appendix_e").runs >= 5

    @pytest.mark.parametrize(
        ("name", "cells", "task"),
        [("exchange", 2 * 75, "exchange"), ("recovery", 2, "recover"), ("pid", 20, "follow_path")],
    )
    def test_the_others(self, name: str, cells: int, task: str) -> None:
        jobs = campaign_jobs(load_campaign(name).model_copy(update={"runs": 1}))
        assert len({job.cell for job in jobs}) == len(jobs) == cells
        assert {job.spec.task for job in jobs} == {task}

    def test_seeds_come_in_rounds(self) -> None:
        jobs = campaign_jobs(SMALL.model_copy(update={"first_seed": 7}))
        assert [job.spec.seed for job in jobs[:5]] == [7, 7, 7, 7, 8]
        assert len(jobs) == 16 and len({job.key() for job in jobs}) == 16

    def test_a_sample_is_drawn_evenly_and_the_same_again(self) -> None:
        everything = [job.key() for job in campaign_jobs(SMALL)]
        drawn = [campaign_jobs(SMALL.model_copy(update={"sample": 6, "draw": seed})) for seed in (1, 1, 2)]
        keys = [[job.key() for job in jobs] for jobs in drawn]
        assert keys[0] == keys[1] != keys[2] and len(set(keys[0])) == 6 and set(keys[0]) < set(everything)
        for jobs in drawn:
            assert sorted(job.condition.name for job in jobs) == 3 * ["default"] + 3 * ["loss_70"]
        more = [job.key() for job in campaign_jobs(SMALL.model_copy(update={"sample": 9, "draw": 1}))]
        assert more[:6] == keys[0]
        assert len(campaign_jobs(SMALL.model_copy(update={"sample": 99}))) == len(everything)

    def test_a_sample_keeps_every_baseline(self) -> None:
        given = {"baseline": {"link.delay_s": 0.3}, "sample": 3, "draw": 5}
        jobs = campaign_jobs(SMALL.model_copy(update=given))
        assert sum(job.condition.link.delay_s == 0.3 for job in jobs) == 3 == len(jobs) - 3

    def test_a_free_list_and_conditions_in_place(self, tmp_path: Path) -> None:
        file = written(tmp_path, """
cells:
  - {path: circle, condition: {name: windy, environment: {currents: [{kind: constant, velocity_mps: [1, 0, 0]}]}}}
  - {path: torus, fleet: 3, controller: "synthetic_runs:Idle", duration_s: 12}
runs: 2
""")  # fmt: skip
        jobs = campaign_jobs(load_campaign(file))
        assert [(j.spec.path, j.condition.name, j.spec.fleet, j.controller.name, j.spec.duration_s, j.spec.seed)
                for j in jobs[:2]] == [
            ("circle", "windy", "2", "nmpc", None, 0),
            ("torus", "default", "3", "synthetic_runs:Idle", 12.0, 0),
        ]  # fmt: skip

    def test_a_cell_may_ask_for_fewer_seeds(self, tmp_path: Path) -> None:
        file = written(tmp_path, "paths: [circle]\ncells:\n  - {path: torus, runs: 2}\n  - {path: spiral}\nruns: 3\n")
        campaign = load_campaign(file)
        count = Counter(job.spec.path for job in campaign_jobs(campaign))
        assert count == {"circle": 3, "torus": 2, "spiral": 3}
        few = campaign_jobs(campaign.model_copy(update={"runs": 1}))  # as --runs does
        assert Counter(job.spec.path for job in few) == {"circle": 1, "torus": 1, "spiral": 1}

    def test_vary_makes_every_combination(self, tmp_path: Path) -> None:
        file = written(tmp_path, "paths: [circle]\nvary: {link.delay_s: [0, 0.1], link.loss: [0, 0.3, 0.6]}\nruns: 1\n")
        jobs = campaign_jobs(load_campaign(file))
        assert len(jobs) == 6
        assert {(j.condition.link.delay_s, j.condition.link.loss) for j in jobs} >= {(0.1, 0.6), (0.0, 0.0)}
        assert "default, delay_s=0.1, loss=0.3" in {j.condition.name for j in jobs}

    def test_vary_reaches_controller_runtime_and_task_and_names_the_cell(self, tmp_path: Path) -> None:
        file = written(tmp_path, """
task: exchange
fleets: [2]
vary:
  controller.weights.position_xy: [20, 50]
  runtime.lost_s: [3]
  task.jitter_m: [0, 0.1]
  condition.link.loss: [0.2]
runs: 1
""")  # fmt: skip
        jobs = campaign_jobs(load_campaign(file))
        assert len({job.key() for job in jobs}) == len({job.cell for job in jobs}) == 4
        last = jobs[-1]
        assert last.cell == ("exchange, jitter_m=0.1", "", "default, loss=0.2", "two", "nmpc, position_xy=50, lost_s=3")
        assert last.controller.settings == {"weights": {"position_xy": 50}} and last.controller.runtime == {"lost_s": 3}
        assert last.spec.task_settings == {"jitter_m": 0.1}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("runs: 3", "no paths and no cells; expected"),
            ("paths: [circle]\nruns: 0", "runs = 0"),
            ("paths: [circle]\ndraw: 3", "draw is 3 and does nothing; expected a sample"),
            ("paths: [circle]\nconditions: [nope]", "'nope' is unknown; expected"),
            ("paths: [circle]\nvary: {link.los: [1]}", "link.los: is no key of a condition; expected"),
            ("paths: [circle]\nvary: {link.loss: [7]}", "link.loss = 7"),
            ("paths: [circle]\nvary: {link.loss: []}", "vary.link.loss has no values; expected"),
            ("paths: [circle]\nvary: {controller.weights.position_xi: [1]}",
             "weights.position_xi = 1: unknown key; expected 'position_x"),
            ("paths: [circle]\nvary: {runtime.lost: [1]}", "lost = 1: unknown key; expected 'lost_s'?"),
            ("task: exchange\nvary: {task.jitter: [1]}", "jitter = 1: unknown key; expected 'jitter_m'?"),
            ("paths: [circle]\nconditions: [{link: {loss: 1}}]", "has no name; expected"),
            ("paths: [circle]\nworkers: 4", "unknown key"),
            ("paths: [circle]\ntask: exchange", "task 'exchange' follows no path; expected none"),
            ("paths: [circle]\ntask: swim", "task = 'swim': unknown; expected one of follow_path, "),
            ("paths: [circle]\ncontrollers: [pdi]",
             "controller: 'pdi' is unknown; expected a file, your own package.module:Name or one of: "),
            ("paths: [circle]\nconditions: [default, {name: default, link: {loss: 0.1}}]",
             "two different cells are named"),
        ],
    )  # fmt: skip
    def test_mistakes_are_named(self, tmp_path: Path, text: str, words: str) -> None:
        file = written(tmp_path, text)
        with pytest.raises(ShoalError) as caught:
            campaign_jobs(load_campaign(file), file)
        assert words in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1

    @pytest.mark.parametrize(
        "text",
        [
            "paths: [sqare]",
            "paths: [circle]\nfleets: [tow]",
            "paths: [circle]\ntask: nowhere:Nothing",
            "paths: [circle]\nmetrics: [nowhere:NOTHING]",
            "paths: [circle]\ntask_settings: {speed: 3}",
            "task: recover\nfleets: [3]",
        ],
    )
    def test_a_wrong_name_stops_the_campaign_before_anything_runs(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(ShoalError, match="expected"):
            run_campaign(load_campaign(written(tmp_path, text)), tmp_path / "out")
        assert not (tmp_path / "out").exists()


class TestKey:
    def test_depends_on_all_that_decides_a_run(self, tmp_path: Path) -> None:
        stiff = load_controller_file("nmpc").model_copy(update={"settings": {"weights": {"position_xy": 99.0}}})
        wide = resolve_fleet("2").model_copy(update={"control_period_s": 0.2})
        specs = [
            RunSpec(),
            RunSpec("torus"),
            RunSpec(fleet="3"),
            RunSpec(fleet=wide),
            RunSpec(condition="loss_50"),
            RunSpec(seed=1),
            RunSpec(controller="synthetic_runs:Idle"),
            RunSpec(controller=stiff),
            RunSpec(duration_s=3.0),
            RunSpec(control_period_s=0.1),
            RunSpec(task="hold_station"),
            RunSpec(task="hold_station", task_settings={"duration_s": 9}),
        ]
        keys = [Job(spec).key() for spec in specs] + [Job(RunSpec(), ("test_metrics:DEPTH",)).key()]
        assert len(set(keys)) == len(keys)
        assert Job(RunSpec()).key() == Job(RunSpec("circle", "two", "default", 0, "nmpc")).key()

    def test_does_not_depend_on_a_path_that_is_not_followed(self) -> None:
        assert Job(RunSpec("line", task="exchange")).key() == Job(RunSpec("torus", task="exchange")).key()

    def test_sees_into_files(self, tmp_path: Path) -> None:
        keys = []
        for folder, speed in (("a", 0.2), ("b", 0.3)):
            (tmp_path / folder).mkdir()
            text = f"speed_mps: {speed}\nwaypoints: [{{position_m: [0, 0, 5]}}, {{position_m: [5, 0, 5]}}]\n"
            keys.append(Job(RunSpec(str(written(tmp_path / folder, text)))).key())
        assert keys[0] != keys[1]

    def test_sees_into_a_user_s_own_code(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody's version number covers it: an edited controller must not be mixed with the runs of the old one."""
        monkeypatch.chdir(tmp_path)
        keys = []
        for number in (1, 2):
            text = f"from synthetic_runs import Idle\n\nclass Mine(Idle):\n    number = {number}\n"
            (tmp_path / "edited_controller.py").write_text(text)
            done = subprocess.run(
                [sys.executable, "-c", "from shoal.campaigns.job import Job; from shoal.tasks.run import RunSpec; "
                 "print(Job(RunSpec(controller='edited_controller:Mine')).key())"],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            keys.append(done.stdout)
        assert keys[0] and keys[0] != keys[1]

    def test_sees_into_the_fleet_behind_a_number(self) -> None:
        assert fleet_hash("2") and fleet_hash("2") != fleet_hash("3")
        assert fleet_hash("2") == fleet_hash("two") == fleet_hash(resolve_fleet("two"))

    def test_sees_into_vehicle_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = find_config("vehicles", "bluerov2_heavy").read_text(encoding="utf-8")
        fleets = []
        for folder, mass in (("a", "11.5"), ("b", "12.5")):
            (tmp_path / folder).mkdir()
            (file := tmp_path / folder / "mine.yaml").write_text(source.replace("value: 11.5", f"value: {mass}", 1))
            member = {"name": "solo", "type": str(file), "start_m": (0.0, 0.0, 5.0)}
            fleets.append(Fleet.model_validate({"version": 1, "name": "mine", "vehicles": [member]}))
        assert fleet_hash(fleets[0]) != fleet_hash(fleets[1])


class TestIdentity:
    def test_rows_say_what_was_run_and_not_what_was_asked(self, tmp_path: Path) -> None:
        """A recovery job once ignored path, fleet and controller, and its row was labelled with them."""
        spec = RunSpec("torus", "two", "default", 1, "synthetic_runs:Idle", 2.0, task="recover")
        other = RunSpec("torus", "two", "default", 1, "nmpc", 2.0, task="recover")
        store = Store(tmp_path)
        store.create()
        for job in (Job(spec), Job(other)):
            run_item(WorkItem(job.key(), job, tmp_path, "test", 0))
        rows = store.read_rows().to_pandas().set_index("controller")
        assert set(rows.index) == {"synthetic_runs:Idle", "nmpc"}
        assert set(rows.path) == {""} and set(rows.task) == {"recover"} and set(rows.fleet) == {"two"}
        assert rows.thrust_rms_N["synthetic_runs:Idle"] == 0.0 < rows.thrust_rms_N["nmpc"]

    def test_a_crashed_run_has_the_same_names_as_one_that_did_not(self, tmp_path: Path) -> None:
        rows = in_this_process(SMALL, tmp_path).read_rows().to_pandas()
        crashed, fine = rows[rows.crashed], rows[~rows.crashed & (rows.path == "line")]
        for column in ("task", "path", "fleet", "controller", "control_period_s", "code_version"):
            assert set(crashed[column]) == set(fine[column]), column


class TestRows:
    def test_crash_and_failure_are_rows_with_reasons(self, tmp_path: Path) -> None:
        rows = in_this_process(SMALL, tmp_path).read_rows().to_pandas()
        assert len(rows) == 16
        crashed = rows[rows.crashed]
        assert set(crashed.path) == {"line"} and set(crashed.seed) == {3} and crashed.failed.all()
        assert crashed.failure.str.contains("FloatingPointError: hand-made crash").all()
        lost = rows[rows.fov_max_deg_failed.fillna(False).astype(bool)]
        assert set(lost.seed) == {2} and lost.fov_max_deg.between(75.0, 77.0).all()
        assert set(lost.fov_max_deg_subject) == {"rov1 -> rov2"} and set(lost.fov_max_deg_bound) == {60.0}
        assert not rows[rows.seed < 2].failed.any()

    def test_reasons_name_no_folders(self) -> None:
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
        (tmp_path / "notes.tex").write_text("precious")
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
        assert all(list((store.recordings / name / "recording").glob("*.mcap")) for name in folders)
