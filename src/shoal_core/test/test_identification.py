"""The fit of a vehicle's numbers, against differences, a fine simulation of thrust, and a perturbed plant."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shoal
from shoal.autopilot.attitude import euler_angles
from shoal.cli import app
from shoal.errors import ShoalError
from shoal.frames import from_euler
from shoal.identification.closed_loop import closed_loops
from shoal.identification.fit import FitSettings, Problem, fit
from shoal.identification.free_run import body_turns, with_tilt
from shoal.identification.motion_data import MotionData, SensorNoise, from_recording
from shoal.identification.precision import trials
from shoal.identification.thrust_model import ThrustTiming, mean_forces
from shoal.identification.unknowns import vehicle_unknowns
from shoal.simulation.conditions import load_condition
from shoal.simulation.perturbation import perturbed
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.parameters import mass_matrix, parameter_vector, structure_of
from vehicles_for_tests import light_fleet, shipped


@pytest.fixture(scope="module")
def dance() -> MotionData:
    run = shoal.simulate(fleet=light_fleet(), controller="excitation", duration_s=40, seed=3)
    return from_recording(run, run.names[0])


@pytest.mark.parametrize(("lag_s", "delay_s"), [(0.15, 0.05), (0.0, 0.0), (0.3, 0.12), (0.05, -0.07)])
def test_mean_forces_equal_a_fine_simulation(lag_s: float, delay_s: float) -> None:
    rng = np.random.default_rng(1)
    commands, step_s, parts = rng.uniform(-5, 5, (60, 2)), 0.05, 500
    found = mean_forces(commands, step_s, ThrustTiming(lag_s, delay_s), np.full(2, 0.1))
    force, h = commands[0].copy(), step_s / parts
    fine = np.empty_like(commands)
    for k in range(60):
        total = np.zeros(2)
        for j in range(parts):
            asked_at = (k + (j + 0.5) / parts) * step_s - delay_s
            command = commands[np.clip(int(np.floor(asked_at / step_s)), 0, 59)]
            target = np.where(np.abs(command) < 0.1, 0.0, command)
            force = target if lag_s == 0 else force + (target - force) * (1 - np.exp(-h / lag_s))
            total += force / parts
        fine[k] = total
    assert found[5:55] == pytest.approx(fine[5:55], abs=0.02)


def test_derivatives_are_those_of_differences(dance: MotionData) -> None:
    vehicle = light_fleet().vehicles[0].vehicle()
    settings = FitSettings(thrust_scale_sigma=0.05, current_sigma_mps=0.1)
    problem = Problem([dance.part(0, 8)], vehicle, SensorNoise(), settings)
    values, starts = problem.prior.copy(), problem.measured[:, 0].copy()
    _, by_start, by_p = problem.linearise(values, starts)
    for i, unknown in enumerate(problem.unknowns):
        if unknown.name in ("delay", "thruster lag"):
            off = 2e-3  # piecewise: the derivative is a difference itself
        else:
            off = 1e-4 * unknown.sigma
        ends = []
        for sign in (1, -1):
            changed = values.copy()
            changed[i] += sign * off
            ends.append(problem.residuals(changed, starts))
        slope = (ends[0] - ends[1]) / (2 * off)
        loose = 0.1 if unknown.name in ("delay", "thruster lag") else 1e-4
        assert np.abs(slope - by_p[..., i]).max() <= loose * np.abs(by_p[..., i]).max() + 1e-7, unknown.name
    moved = starts.copy()
    moved[:, 8] += 1e-4  # sway
    slope = (problem.residuals(values, moved) - problem.residuals(values, starts)) / 1e-4
    assert slope == pytest.approx(by_start[..., 7], rel=1e-2, abs=0.2)


def test_a_dance_shows_mass_drag_and_timing(dance: MotionData) -> None:
    vehicle = light_fleet().vehicles[0].vehicle()
    truth = perturbed(vehicle, load_condition("default").plant, np.random.default_rng([3, 1])).vehicle
    steps: list[float] = []
    found = fit([dance], vehicle, progress=lambda _, size: steps.append(size))
    assert steps[-1] < FitSettings().converged
    assert found.misfit == pytest.approx(1.0, abs=0.1)
    masses = np.diag(mass_matrix(found.vehicle)) / np.diag(mass_matrix(truth))
    assert masses[[0, 1, 2, 5]] == pytest.approx(1.0, abs=0.03)
    drag = [np.diag(v.linear_damping) + 0.5 * np.diag(v.quadratic_damping) for v in (found.vehicle, truth)]
    assert (drag[0] / drag[1])[[0, 1, 2, 5]] == pytest.approx(1.0, abs=0.05)
    assert found.value("thruster lag")[0] == pytest.approx(truth.input_lag_s[0], abs=0.005)
    assert found.value("delay")[0] == pytest.approx(0.05, abs=0.001)
    prior = np.diag(mass_matrix(vehicle)) / np.diag(mass_matrix(truth))
    assert np.abs(prior - 1).max() > 0.05  # there was something to find


def test_motion_that_shows_nothing_leaves_the_priors_alone() -> None:
    run = shoal.simulate(fleet=light_fleet(), controller="pid", duration_s=20, path="line", seed=2)
    found = fit([from_recording(run, run.names[0])], light_fleet().vehicles[0].vehicle())
    assert "yaw quadratic damping" in found.unexcited
    assert found.value("yaw quadratic damping")[0] == shipped("wu2018").quadratic_damping[5, 5]
    assert "yaw added mass" in found.unexcited  # a heading that is held shows no inertia, either
    assert found.value("yaw added mass")[0] == shipped("wu2018").added_mass[5, 5]


def test_what_no_fit_can_be_made_of_gets_a_sentence(dance: MotionData) -> None:
    vehicle = light_fleet().vehicles[0].vehicle()
    with pytest.raises(ShoalError, match=r"4.0 s of motion; expected at least five windows"):
        fit([dance.part(0, 4)], vehicle)
    with pytest.raises(ShoalError, match=r"8 thrusters; expected the 6 of"):
        fit([dance], replace(vehicle, thrusters=vehicle.thrusters[:6]))
    tumbling = dance.states.copy()
    tumbling[50, 3:7] = [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(ShoalError, match=r"tilts by 180°; expected at most 75°"):
        fit([replace(dance, states=tumbling)], vehicle)
    broken = dance.thrust_N.copy()
    broken[3] = np.nan
    with pytest.raises(ShoalError, match="not finite"):
        fit([replace(dance, thrust_N=broken)], vehicle)


def test_the_command_excites_fits_and_writes_a_file_that_flies(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    given = ["identify", "--fly", "--set", "wu2018", "--seed", "2", "--out", str(file)]
    answer = CliRunner().invoke(app, given)
    assert answer.exit_code == 0, answer.output
    assert "surge drag at 0.5 m/s" in answer.output and "misfit s² = 1.0" in answer.output
    described, found = load_vehicle("bluerov2_heavy", "wu2018"), load_vehicle(file)
    assert found.parameter_set == "identified"
    truth = perturbed(described, load_condition("default").plant, np.random.default_rng([2, 1])).vehicle
    off = [abs(v.added_mass[0, 0] + v.mass_kg - truth.added_mass[0, 0] - truth.mass_kg) for v in (found, described)]
    assert off[0] < 0.5 * off[1]
    assert found.input_lag_s == pytest.approx(truth.input_lag_s, abs=0.005)
    assert "identified" in file.read_text() and "±" in file.read_text()


def test_measured_tilt_keeps_the_predicted_heading() -> None:
    rng = np.random.default_rng(4)
    predicted, measured = rng.normal(size=(2, 6, 13))
    for states in (predicted, measured):
        states[:, 3:7] = [from_euler(*row) for row in rng.uniform([-0.5, -0.5, -3], [0.5, 0.5, 3], (6, 3))]
    found, kept = with_tilt(predicted, measured)
    angles = [np.array([euler_angles(q) for q in states[:, 3:7]]) for states in (found, measured, predicted)]
    assert angles[0][:, :2] == pytest.approx(angles[1][:, :2], abs=1e-9)
    assert angles[0][:, 2] == pytest.approx(angles[2][:, 2], abs=1e-9)
    for axis in range(3):  # the derivative, by turning the prediction a little
        turn = 1e-6 * 0.5 * body_turns(predicted[:, 3:7])[:, :, axis]
        ends = []
        for sign in (1, -1):
            moved = predicted.copy()
            moved[:, 3:7] += sign * turn
            ends.append(with_tilt(moved, measured)[0])
        slope = np.einsum("wij,wj->wi", kept[:, :, 3:7], turn)
        assert (ends[0] - ends[1])[:, 3:7] / 2 == pytest.approx(slope[:, 3:7], abs=1e-10)


def test_recordings_and_flying_exclude_each_other(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["identify"])
    assert answer.exit_code == 2 and "expected either recordings or --fly" in answer.output


def test_a_dance_of_an_unseen_plant_keeps_what_is_promised() -> None:
    """One plant; ten of them: `shoal identify --fly --seeds 10`, figures in docs/identification.md."""
    (found,) = trials("bluerov2_heavy", "wu2018", "default", (12,), 0.6)
    assert np.sqrt(np.mean(found.errors**2)) <= 0.025 and np.abs(found.errors).max() <= 0.045
    assert found.inside.sum() >= 6
    assert found.free_run <= 1.2 < found.free_run_file
    assert found.misfit == pytest.approx(1.0, abs=0.1)


def test_a_controller_swims_with_the_identified_numbers() -> None:
    """One plant and one short run; three plants and four runs: `shoal identify --fly --seeds 3 --closed-loop`."""
    (found,) = closed_loops("bluerov2_heavy", "wu2018", "default", (2,), None, 14.0, (("current_05_waves", "torus"),))
    file, fit_, true = (np.array(s) for s in (found.speeds_described, found.speeds_identified, found.speeds_true))
    assert np.abs(fit_ / true - 1).max() < min(0.03, np.abs(file / true - 1).max())
    (run,) = found.runs
    assert (run.condition, run.path) == ("current_05_waves", "torus")
    assert run.identified != run.described and all(x is not None and x > 0 for x in run.identified + run.described)


def test_mass_and_added_mass_that_show_only_together_are_not_torn_apart() -> None:
    """With the centre of gravity at the origin; one of them at its prior once scaled all thrust and mass by 0.6."""
    (found,) = trials("bluerov2_heavy", "von_benzon2022", "default", (3,), 0.6)
    assert np.abs(found.errors).max() <= 0.045 and found.misfit == pytest.approx(1.0, abs=0.1)
    # What is left is the thrusters' common scale, which no motion shows; a force held over each step left 0.3 %.
    assert np.abs(found.errors_known_gains).max() <= 0.005 and found.inside_known_gains.sum() >= 6


def test_a_prior_that_is_far_off_is_left_and_no_bound_is_passed(dance: MotionData) -> None:
    far = shipped("wu2018").scaled(added_mass=0.5, damping=2.0)
    steps: list[float] = []
    found = fit([dance.part(0, 20)], far, progress=lambda _, size: steps.append(size))
    assert found.misfit == pytest.approx(1.0, abs=0.1) and len(steps) < 20
    assert all(value >= unknown.least for unknown, value in zip(found.unknowns, found.values, strict=True))


def test_axes_that_are_left_out_keep_their_numbers_and_do_not_count(dance: MotionData) -> None:
    """Roll and pitch moved by forces that nobody logged, as behind an autopilot, must not spoil the other axes."""
    vehicle = shipped("wu2018")
    tampered = dance.states.copy()
    tampered[:, 10] += 0.5 * np.sin(np.arange(len(tampered)) / 3)  # roll rate
    part = replace(dance, states=tampered).part(0, 20)
    left_out, counted = (
        fit([part], vehicle, settings=FitSettings(axes=axes)) for axes in ((0, 1, 2, 5), (0, 1, 2, 3, 4, 5))
    )
    assert left_out.misfit < 1.4 and counted.misfit > 2
    assert left_out.value("roll added mass")[0] == vehicle.added_mass[3, 3]
    assert left_out.value("righting arm")[0] == pytest.approx(vehicle.cg_m[2] - vehicle.cb_m[2])


def test_diving_and_rising_change_with_heave() -> None:
    """Where they differ the model moves by these alone: a fit once left both as they were."""
    prior = load_vehicle("bluerov2_heavy", "ng2024")
    for unknown in vehicle_unknowns(prior):
        if unknown.axis != 2 or unknown.name == "net weight":
            continue
        assert unknown.apply is not None
        changed, structure = unknown.apply(prior, 1.1 * unknown.prior), structure_of(prior)
        for way in ("heave_dive", "heave_rise"):
            before, after = (np.array(astuple(getattr(v, way))) for v in (prior, changed))
            assert sorted(after / before) == pytest.approx([1.0, 1.0, 1.1])
        moved = parameter_vector(changed, structure) != parameter_vector(prior, structure)
        assert moved.sum() >= 2
