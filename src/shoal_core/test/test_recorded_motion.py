"""Motion data from run directories, rosbag2 folders and CSV files; free runs and warping."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import shoal
from shoal.cli import app
from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.frames import frd_to_flu, ned_to_enu, quaternion_ned_to_enu, scalar_last
from shoal.identification.calibration import calibrated
from shoal.identification.dtw import warp
from shoal.identification.fit import FitSettings, Problem, fit
from shoal.identification.free_run import body_turns
from shoal.identification.measured_point import POINT, seen_from
from shoal.identification.motion_data import MotionData, from_recording
from shoal.identification.sources import read_motion
from shoal.identification.thrust_model import sagging
from shoal.identification.validation import replay_of_fit, replay_of_vehicle, validate_replay
from shoal.simulation.conditions import load_condition
from shoal.simulation.perturbation import perturbed
from shoal.vehicles.curves import load_table
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.mixers import heuristic

WU = load_vehicle("bluerov2_heavy", "wu2018")
PULSES = [f"pwm{i}" for i in range(8)]


@pytest.fixture(scope="module")
def run() -> shoal.Recording:
    one = load_fleet("one")
    light = [v.model_copy(update={"parameter_set": "wu2018", "thrust_limit_N": 16.6}) for v in one.vehicles]
    fleet = one.model_copy(update={"vehicles": tuple(light)})
    return shoal.simulate(fleet=fleet, controller="excitation", duration_s=24, seed=5)


@pytest.fixture(scope="module")
def motion(run: shoal.Recording) -> MotionData:
    return from_recording(run, run.names[0])


def _mapping(commands: dict[str, object]) -> dict[str, object]:
    return {
        "version": 1, "time": "stamp", "time_unit": "ms", "world": "ENU", "body": "FLU", "position_m": ["x", "y", "z"],
        "attitude": {"quaternion_xyzw": ["qx", "qy", "qz", "qw"]}, "velocity_mps": ["u", "v", "w"],
        "rate_dps": ["p", "q", "r"], "commands": commands,
    }  # fmt: skip


def _write(folder: Path, motion: MotionData, commands: np.ndarray, names: list[str], mapping: dict[str, object],
           keep: np.ndarray | None = None) -> tuple[Path, Path]:  # fmt: skip
    """The motion as another ROS user would log it: ENU, FLU, degrees, milliseconds."""
    s = motion.states
    rows = np.hstack([
        1e3 * np.arange(len(s))[:, None] * motion.step_s + 7e6, ned_to_enu(s[:, :3]),
        scalar_last(quaternion_ned_to_enu(s[:, 3:7])), frd_to_flu(s[:, 7:10]), np.degrees(frd_to_flu(s[:, 10:])),
        commands,
    ])  # fmt: skip
    rows = rows if keep is None else rows[keep]
    file, columns = folder / "log.csv", folder / "map.yaml"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["stamp", "x", "y", "z", "qx", "qy", "qz", "qw", "u", "v", "w", "p", "q", "r", *names])
        writer.writerows(rows.tolist())
    columns.write_text(yaml.safe_dump(mapping))
    return file, columns


def test_a_csv_log_in_other_frames_and_units_is_the_same_motion(tmp_path: Path, motion: MotionData) -> None:
    names = [f"f{i}" for i in range(8)]
    file, columns = _write(tmp_path, motion, motion.thrust_N, names, _mapping({"thrust_N": names}))
    (found,) = read_motion(file, WU, columns=columns)
    assert found.step_s == pytest.approx(motion.step_s)
    signs = np.sign(np.sum(found.states[:, 3:7] * motion.states[:, 3:7], axis=1))[:, None]
    assert found.states[:, :3] == pytest.approx(motion.states[:, :3], abs=1e-6)
    assert signs * found.states[:, 3:7] == pytest.approx(motion.states[:, 3:7], abs=1e-6)
    assert found.states[:, 7:] == pytest.approx(motion.states[:, 7:], abs=1e-6)
    assert found.thrust_N == pytest.approx(motion.thrust_N)


def test_gaps_and_left_out_stretches_break_a_csv_log(tmp_path: Path, motion: MotionData) -> None:
    names = [f"f{i}" for i in range(8)]
    keep = np.ones(len(motion.states), dtype=bool)
    keep[200:240] = False  # 2 s that nobody logged
    keep[100:200:3] = False  # and an irregular rate, which is no gap
    mapping = _mapping({"thrust_N": names}) | {"leave_out_s": [[7000.0 + 15, 7000.0 + 17]], "step_s": motion.step_s}
    file, columns = _write(tmp_path, motion, motion.thrust_N, names, mapping, keep)
    pieces = read_motion(file, WU, columns=columns)
    assert [p.duration_s for p in pieces] == pytest.approx([9.9, 3.0, 6.95], abs=0.16)
    assert np.abs(pieces[0].states[:, :3] - motion.states[: len(pieces[0].states), :3]).max() < 0.1


def test_pulses_and_axes_become_newtons(tmp_path: Path, motion: MotionData) -> None:
    curve = load_table("t200").at(15.0)
    pulses = 1500 + np.random.default_rng(1).integers(-300, 300, (len(motion.states), 8))
    entry = {"columns": PULSES, "voltage_V": 15.0, "inverted": ["pwm1"], "reversed": ["pwm1", "pwm2"]}
    file, columns = _write(tmp_path, motion, pulses, PULSES, _mapping({"pwm_us": entry}))
    (found,) = read_motion(file, WU, columns=columns)
    assert found.thrust_N[:, 0] == pytest.approx(curve.force_N(pulses[:, 0]))
    assert found.thrust_N[:, 1] == pytest.approx(-curve.force_N(3000 - pulses[:, 1]))
    assert found.thrust_N[:, 2] == pytest.approx(-curve.force_N(pulses[:, 2]))
    axes = {"columns": {"surge": "a", "heave": "b"}, "voltage_V": 15.0}
    levels = np.tile([0.5, -0.4], (len(motion.states), 1))
    file, columns = _write(tmp_path, motion, levels, ["a", "b"], _mapping({"axes": axes}))
    (found,) = read_motion(file, WU, columns=columns)
    wrench = WU.input_matrix @ found.thrust_N[0]
    assert wrench[0] > 20 and wrench[2] < -20 and abs(wrench[1]) < 8
    assert found.thrust_N[0] == pytest.approx(curve.force_N(heuristic(WU, np.array([0.5, 0, -0.4, 0, 0, 0]))))


def test_what_a_column_map_lacks_gets_a_sentence(tmp_path: Path, motion: MotionData) -> None:
    names = [f"f{i}" for i in range(8)]
    file, columns = _write(tmp_path, motion, motion.thrust_N, names, _mapping({"thrust_N": names[:7]}))
    with pytest.raises(ShoalError, match="7 columns; expected one for each of the 8 thrusters"):
        read_motion(file, WU, columns=columns)
    with pytest.raises(ShoalError, match="has no column map; expected --columns"):
        read_motion(file, WU)
    for changed, sentence in (
        ({"time": "when"}, "column 'when' is not in"),
        ({"world": "NED"}, "expected NED with FRD or ENU with FLU"),
        ({"rate_dps": None}, "exactly one of rate_radps and rate_dps"),
        ({"commands": {}}, "exactly one of thrust_N, pwm_us and axes"),
        ({"commands": {"pwm_us": {"columns": names, "voltage_V": 40.0}}}, "voltage of 40 V"),
        ({"gap_s": 0.01}, "expected more than the time step"),
        ({"leave_out_s": [[0, 1e9]]}, "no piece of 2 s without a gap"),
    ):
        columns.write_text(yaml.safe_dump(_mapping({"thrust_N": names}) | changed))
        with pytest.raises(ShoalError, match=sentence):
            read_motion(file, WU, columns=columns)


def test_a_bag_gives_the_motion_of_its_run_and_a_fit(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    given = [
        "simulate",
        "--fleet",
        "one",
        "--controller",
        "excitation",
        "--duration",
        "12",
        "--seed",
        "3",
        "--out",
        str(folder),
    ]
    answer = CliRunner().invoke(app, given)
    assert (folder / "recording").is_dir(), answer.output
    (of_run,) = read_motion(folder, WU)
    (folder / "timeseries.parquet").rename(tmp_path / "away.parquet")
    (of_bag,) = read_motion(folder / "recording", WU)
    count = min(len(of_bag.states), len(of_run.states))
    assert count > 200
    assert of_bag.states[:count] == pytest.approx(of_run.states[:count], abs=1e-6)
    assert of_bag.thrust_N[:count] == pytest.approx(of_run.thrust_N[:count], abs=1e-6)


def test_sag_is_found_and_its_derivative_is_that_of_differences(motion: MotionData) -> None:
    """A plant whose battery gives way cannot be had from the simulator: the log over-states the thrust instead."""
    sag = 0.8
    load = np.abs(motion.thrust_N)
    stated = motion.thrust_N
    for _ in range(60):  # commands whose sagging thrust is what the vehicle was given
        stated = motion.thrust_N * (1 + sag * np.abs(stated).sum(axis=1, keepdims=True) / 100)
    assert load.max() < np.abs(stated).max()
    log = replace(motion, thrust_N=stated)
    assert sagging(stated, sag)[0] == pytest.approx(motion.thrust_N, abs=1e-6)
    found = fit([log], WU, settings=FitSettings(sag_sigma=0.5))
    value, sigma = found.value("sag")
    assert value == pytest.approx(sag, abs=3 * sigma) and sigma < 0.15
    problem = Problem([log.part(0, 8)], WU, None, FitSettings(sag_sigma=0.5))
    values, starts = problem.prior.copy(), problem.measured[:, 0].copy()
    i = problem.index("sag")
    assert i is not None
    values[i] = 0.4
    by_p, ends = problem.linearise(values, starts)[2], []
    for sign in (1, -1):
        changed = values.copy()
        changed[i] += sign * 1e-4
        ends.append(problem.residuals(changed, starts))
    slope = (ends[0] - ends[1]) / 2e-4
    assert np.abs(slope - by_p[..., i]).max() <= 1e-3 * np.abs(slope).max()


def test_the_point_that_odometry_is_of_is_found_and_used(motion: MotionData) -> None:
    """A tracker 0.12 m ahead of the centre and 0.05 m to starboard: sway and surge that no force has made."""
    point_m = np.array([0.12, 0.05, 0.0])
    log = replace(motion, states=seen_from(motion.states, point_m))
    found = fit([log], WU, settings=FitSettings(point_sigma_m=0.1))
    assert [found.value(name)[0] for name in POINT] == pytest.approx(point_m, abs=0.02)
    assert found.misfit == pytest.approx(1.0, abs=0.15)
    with_point, without = (
        validate_replay(r, [log], 5.0)
        for r in (replay_of_fit(found), replace(replay_of_fit(found), point_m=np.zeros(3)))
    )
    assert with_point.axes[1].rmse < 0.9 * without.axes[1].rmse
    problem = Problem([log.part(0, 8)], WU, None, FitSettings(point_sigma_m=0.1))
    values, starts = problem.prior.copy(), problem.measured[:, 0].copy()
    i = problem.index(POINT[0])
    assert i is not None
    values[i : i + 3] = point_m
    _, by_start, by_p = problem.linearise(values, starts)
    for j in (i, i + 1, problem.index("yaw added mass")):
        assert j is not None
        off, ends = 1e-5, []
        for sign in (1, -1):
            changed = values.copy()
            changed[j] += sign * off
            ends.append(problem.residuals(changed, starts))
        slope = (ends[0] - ends[1]) / (2 * off)
        assert np.abs(slope - by_p[..., j]).max() <= 1e-3 * np.abs(slope).max() + 1e-6
    moved, tilted = starts.copy(), 1e-5
    moved[:, 3:7] += 0.5 * tilted * body_turns(starts[:, 3:7])[:, :, 2]  # heading
    slope = (problem.residuals(values, moved) - problem.residuals(values, starts)) / tilted
    assert np.abs(slope - by_start[..., 5]).max() <= 1e-2 * np.abs(slope).max()


def test_free_runs_tell_the_true_numbers_from_wrong_ones(motion: MotionData) -> None:
    truth = perturbed(WU, load_condition("default").plant, np.random.default_rng([5, 1])).vehicle
    right = validate_replay(replay_of_vehicle(truth, "truth"), [motion], 5.0)
    wrong = validate_replay(replay_of_vehicle(WU.scaled(added_mass=2.0, damping=2.0), "wrong"), [motion], 5.0)
    for a, b in zip(right.axes, wrong.axes, strict=True):
        assert a.moved and a.rmse < 0.6 * b.rmse and a.r2 > 0.9 and a.r2 > b.r2 and a.warped <= b.rmse
    assert not right.poor and "sway" in wrong.poor
    assert right.position_rms_m < 0.5 * wrong.position_rms_m
    with pytest.raises(ShoalError, match="no stretch of 41 s"):
        validate_replay(replay_of_vehicle(WU), [motion], 40.0)


def test_calibration_finds_ballast_and_thrust_scale_and_leaves_the_hull_alone(motion: MotionData) -> None:
    overstated = replace(motion, thrust_N=motion.thrust_N / 0.8)
    replay = calibrated(WU, [overstated])
    assert replay.gains == pytest.approx(np.full(8, replay.gains[0]))
    assert replay.gains[0] == pytest.approx(0.8 * calibrated(WU, [motion]).gains[0], abs=0.01)  # the plant is not WU
    assert np.array_equal(replay.vehicle.added_mass, WU.added_mass)
    assert replay.vehicle.weight_N != WU.weight_N


def test_warped_copies_are_at_distance_zero_and_constraints_hold() -> None:
    x = np.sin(np.linspace(0, 9, 60))
    slow = np.repeat(x, 2)  # each sample twice
    assert warp(x, slow).distance[0] == pytest.approx(0.0, abs=1e-12)
    assert warp(x, slow, slope=True).mean[0] == pytest.approx(0.0, abs=1e-12)
    late = np.concatenate([np.full(7, x[0]), x[:-7]])
    assert warp(x, late, window=7).mean[0] < 0.05 * np.abs(x - late).mean()
    assert warp(x, late, window=3).mean[0] > warp(x, late, window=7).mean[0]
    assert warp(x, late, window=0).mean[0] == pytest.approx(np.abs(x - late).mean())
    assert np.isinf(warp(x, np.repeat(x, 3), slope=True).distance[0])  # steeper than the slope allows
    pair = warp(np.stack([x, x]), np.stack([x, x + 1]), window=2)
    assert pair.mean[0] == 0 and pair.mean[1] > 0.5


def test_warping_agrees_with_a_search_over_all_paths() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=5), rng.normal(size=4)

    def cheapest(i: int, j: int) -> float:
        here = (x[i] - y[j]) ** 2
        if i == 0 and j == 0:
            return float(here)
        before = [(i - 1, j), (i, j - 1), (i - 1, j - 1)]
        return float(here + min(cheapest(a, b) for a, b in before if a >= 0 and b >= 0))

    assert warp(x, y).distance[0] ** 2 == pytest.approx(cheapest(4, 3))


def test_the_command_compares_sets_and_gives_a_verdict(tmp_path: Path, motion: MotionData) -> None:
    names = [f"f{i}" for i in range(8)]
    file, columns = _write(tmp_path, motion, motion.thrust_N, names, _mapping({"thrust_N": names}))
    given = ["validate", str(file), "-c", str(columns), "--window", "5", "--vehicle", "bluerov2_heavy:wu2018",
             "--vehicle", "bluerov2_heavy:von_benzon2022", "--page", str(tmp_path / "p" / "page.html")]  # fmt: skip
    answer = CliRunner().invoke(app, given)
    assert answer.exit_code == 0, answer.output
    assert "best of 2 by mean R²: bluerov2_heavy:wu2018" in answer.output
    assert "von_benzon2022: does not follow" in answer.output
    assert "von_benzon2022" in (tmp_path / "p" / "page.html").read_text()


def test_the_command_predicts_recordings_that_it_has_not_fitted(tmp_path: Path, motion: MotionData) -> None:
    names = [f"t{i}" for i in range(8)]
    logs = []
    for name, part in (("seen", motion.part(0, 12.5)), ("unseen", motion.part(12.5, motion.duration_s))):
        (tmp_path / name).mkdir()
        logs.append(_write(tmp_path / name, part, part.thrust_N, names, _mapping({"thrust_N": names})))
    (seen, columns), (unseen, _) = logs
    given = ["identify", str(seen), "-c", str(columns), "--set", "wu2018", "--test", str(unseen)]
    answer = CliRunner().invoke(app, given)
    assert answer.exit_code == 0, answer.output
    lines = [line for line in answer.output.splitlines() if line.startswith("not fitted, free runs of 8 s")]
    fitted, described = ([float(part.split()[-1]) for part in line.split("R² ")[1].split(", ")] for line in lines)
    assert "identified" in lines[0] and "file" in lines[1] and len(fitted) == 4
    assert min(fitted) > 0.9 and np.mean(fitted) > np.mean(described)


@pytest.mark.parametrize(("share", "moved"), [(0.9, False), (1.1, True)])
def test_an_axis_that_moved_by_less_than_its_noise_has_no_score(motion: MotionData, share: float, moved: bool) -> None:
    """The log's noise decides: of speeds that the sensor alone would show nobody should be told an R²."""
    replay = replay_of_vehicle(load_vehicle("bluerov2_heavy", "wu2018"))
    surge = validate_replay(replay, [motion]).measured[..., 7]
    noisy = replace(motion, noise=replace(motion.noise, velocity_mps=float(surge.std()) / share))
    assert validate_replay(replay, [noisy]).axes[0].moved is moved
