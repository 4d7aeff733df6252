"""`import shoal`: nothing heavy at first, every name there, runs varied by dotted keys, results as frames."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal import RunSpec, ShoalError
from shoal.reports.plots.run_plot import draw_run
from synthetic_runs import make_record
from test_metrics import DEPTH, only_first

RECORD = make_record(duration_s=10.0)


def test_importing_costs_nothing_and_every_name_is_there() -> None:
    heavy = ("casadi", "matplotlib", "scipy", "pandas", "xarray", "pyarrow", "numpy", "pydantic")
    code = (
        f"import sys, shoal; print([m for m in {heavy} if m in sys.modules]); [getattr(shoal, n) for n in dir(shoal)]"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stdout.strip() == "[]", done.stdout + done.stderr
    with pytest.raises(AttributeError, match="no attribute 'swim'"):
        shoal.swim  # noqa: B018


def test_everything_public_says_what_it_is() -> None:
    for name in dir(shoal):
        assert name == "__version__" or getattr(shoal, name).__doc__, name


class TestVary:
    def test_every_combination_named_after_what_changed(self) -> None:
        spec = RunSpec("circle", "two", duration_s=2.0)
        specs = shoal.vary(spec, {"condition.link.loss": [0, 0.3], "fleet": [2, "three"], "seed": range(2)})
        assert [(s.condition.name, s.fleet, s.seed) for s in specs[:5]] == [  # type: ignore[union-attr]
            ("default, loss=0", "2", 0), ("default, loss=0", "2", 1), ("default, loss=0", "three", 0),
            ("default, loss=0", "three", 1), ("default, loss=0.3", "2", 0),
        ]  # fmt: skip
        assert len(specs) == 8 and spec == RunSpec("circle", "two", duration_s=2.0)

    def test_controller_runtime_and_task(self) -> None:
        choices = {"controller.weights.position_xy": [50], "runtime.lost_s": [3], "task.jitter_m": [0.1]}
        (spec,) = shoal.vary(RunSpec(task="exchange"), choices)
        assert spec.controller.name == "nmpc, position_xy=50, lost_s=3"  # type: ignore[union-attr]
        assert spec.task_settings == {"jitter_m": 0.1}

    def test_two_keys_of_one_last_word_are_told_apart(self) -> None:
        choices = {"condition.plant.mass_scale": [1.1], "condition.controller_model.mass_scale": [2]}
        (spec,) = shoal.vary(RunSpec(), choices)
        assert spec.condition.name == "default, plant.mass_scale=1.1, controller_model.mass_scale=2"  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            ("sed", "vary: 'sed': unknown; expected one of path, fleet, condition, seed"),
            ("condition.link.los", "vary.link.los: is no key of a condition"),
            ("controller.wieghts.position_xy", "unknown key; expected 'weights'"),
            ("task.jitter_m", "jitter_m = 1: unknown key"),
        ],
    )
    def test_a_wrong_key_is_one_sentence(self, key: str, words: str) -> None:
        with pytest.raises(ShoalError) as caught:
            shoal.vary(RunSpec(), {key: [1]})
        assert words in str(caught.value) and "\n" not in str(caught.value)


def test_simulate_takes_a_spec_or_its_fields_and_repeats() -> None:
    first = shoal.simulate(fleet=2, path="line", controller="synthetic_runs:Idle", duration_s=1.0, seed=4)
    second = shoal.simulate(RunSpec("line", "two", controller="synthetic_runs:Idle", duration_s=1.0), seed=4)
    np.testing.assert_array_equal(first.states, second.states)
    assert first.about.seed == 4 and first.about.controller == "synthetic_runs:Idle"
    with pytest.raises(TypeError, match="colour"):
        shoal.simulate(colour="blue")


class TestFrames:
    def test_one_vehicle_by_time(self) -> None:
        frame = shoal.recording_frame(RECORD, "rov2")
        assert frame.index.name == "t_s" and len(frame) == len(RECORD.times_s)
        np.testing.assert_array_equal(frame[["n_m", "e_m", "d_m"]], RECORD.states[:, 1, :3])
        np.testing.assert_array_equal(frame["measured_w_mps"], RECORD.odometry[:, 1, 9])
        np.testing.assert_array_equal(frame["setpoint_n_m"], RECORD.setpoints_m[:, 1, 0])
        assert [c for c in frame if c.startswith("thrust")] == [f"thrust{i}_N" for i in range(1, 7)]

    def test_all_vehicles_stacked_with_gaps_where_one_has_fewer_thrusters(self) -> None:
        frame = shoal.recording_frame(RECORD)
        assert frame.index.names == ["vehicle", "t_s"] and len(frame) == 2 * len(RECORD.times_s)
        assert frame.loc["rov2"].thrust8_N.isna().all() and (frame.loc["rov1"].thrust8_N == 7.0).all()

    def test_a_wrong_vehicle_is_named(self) -> None:
        with pytest.raises(ShoalError, match="'rov8': not in the recording; expected one of rov1, rov2"):
            shoal.recording_frame(RECORD, "rov8")

    def test_data_set_has_dimensions_names_and_attributes(self) -> None:
        data = shoal.recording_dataset(RECORD)
        assert dict(data.sizes) == {"time": 101, "vehicle": 2, "ned": 3, "quaternion": 4, "body": 3, "thruster": 8}
        np.testing.assert_array_equal(data.position_m.sel(vehicle="rov2", ned="n"), RECORD.states[:, 1, 0])
        np.testing.assert_array_equal(data.measured_rate_radps, RECORD.odometry[:, :, 10:])
        assert np.isnan(data.thrust_N.sel(vehicle="rov2").isel(thruster=7)).all()
        assert (data.attrs["controller"], data.attrs["distance_hard_m"]) == ("nmpc", 0.75)

    def test_rows_are_those_of_a_campaign(self) -> None:
        table = shoal.rows([RECORD, make_record(duration_s=10.0, seed=1)], [DEPTH])
        assert table.seed.tolist() == [0, 1] and table.depth_max_m.notna().all()
        assert table.fov_max_deg_bound.tolist() == [60.0, 60.0]
        assert len(shoal.rows(RECORD)) == 1


class TestPlot:
    def test_shows_tracks_depth_angles_and_distances(self, tmp_path: Path) -> None:
        figure = shoal.plot(RECORD, tmp_path / "new" / "run.png")
        above, depth, sight, distance = figure.axes
        np.testing.assert_array_equal(above.lines[1].get_xdata(), RECORD.states[:, 0, 1])
        np.testing.assert_array_equal(depth.lines[1].get_ydata(), RECORD.states[:, 1, 2])
        assert depth.yaxis_inverted() and sight.get_title(loc="left").startswith("Sight")
        assert distance.lines[0].get_ydata()[0] == pytest.approx(2.0)
        assert (tmp_path / "new" / "run.png").read_bytes().startswith(b"\x89PNG")

    def test_one_vehicle_has_no_sight_and_no_distance(self) -> None:
        assert len(draw_run(only_first(RECORD)).axes) == 2
