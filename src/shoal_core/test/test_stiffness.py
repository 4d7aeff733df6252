"""What is believed of drag can be integrated with the steps that controllers take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.control.nmpc import formulation
from shoal.control.nmpc.formulation import Formulation
from shoal.frames import tilt_rad
from shoal.messages.state import ATTITUDE, POSITION, RATE
from shoal.tasks.run import RunSpec, build_run
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal.vehicles.functions import VehicleModel
from shoal.vehicles.parameters import parameter_vector, structure_of
from shoal.vehicles.stiffness import FASTEST, LONGEST_STEP_S, resolvable
from solver_problems import stage_dynamics

Array = NDArray[np.float64]


def rk4(f: Callable[[Array], Array], x: Array, h: float) -> Array:
    k1 = f(x)
    k2 = f(x + h / 2 * k1)
    k3 = f(x + h / 2 * k2)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + h * k3))


def coasts(vehicle: Vehicle, step_s: float) -> bool:
    """Whether every axis slows down when let go at its fastest, by RK4 steps of that length."""
    model = VehicleModel(vehicle)
    trim = model.trim()
    for axis in range(6):
        x = np.zeros(13)
        x[3], x[7 + axis] = 1.0, FASTEST[axis]
        for _ in range(10):
            x = rk4(lambda y: model.derivative(y, trim), x, step_s)
            if not np.all(np.isfinite(x)) or abs(x[7 + axis]) > FASTEST[axis]:
                return False
    return True


@pytest.mark.parametrize("name", ["wu2018", "ng2024", "von_benzon2022"])
@pytest.mark.parametrize("damping", [1.0, 4.0, 20.0])
def test_drag_is_limited_to_what_a_step_resolves(name: str, damping: float) -> None:
    assert coasts(resolvable(load_vehicle("bluerov2_heavy", name).scaled(damping=damping)), 0.1)


def test_without_the_limit_it_is_not() -> None:
    assert not coasts(load_vehicle("bluerov2_heavy", "wu2018").scaled(damping=4.0), 0.1)


def test_what_can_be_resolved_is_left_alone() -> None:
    vehicle = load_vehicle("bluerov2_heavy", "wu2018")
    assert resolvable(vehicle) is vehicle
    assert resolvable(vehicle.scaled(damping=4.0), 0.01).quadratic_damping[3, 3] == pytest.approx(4 * 1.55)


def rates_after_a_stage(vehicle: Vehicle, axis: int) -> Array:
    """rad/s predicted from rest after the longest stage, by shares 0 … 1 of the largest moment about an axis."""
    problem = Formulation(structure_of(vehicle), 0)
    theta = parameter_vector(vehicle, problem.structure)
    believed = np.concatenate([theta if name == "theta" else np.zeros(n) for name, n in problem.global_sizes.items()])
    step = stage_dynamics(problem)
    arms = vehicle.input_matrix[3 + axis]
    most = np.where(arms > 0, vehicle.thrust_max_N, vehicle.thrust_min_N) * (arms != 0)
    rest = np.zeros(13)
    rest[3] = 1.0
    rates = [step(rest, share * most, LONGEST_STEP_S, believed)[0] for share in np.linspace(0, 1, 41)]
    return np.array([np.array(x).ravel()[RATE][axis] for x in rates])


@pytest.mark.parametrize("name", ["wu2018", "ng2024", "von_benzon2022"])
def test_more_moment_is_predicted_to_turn_a_vehicle_faster(name: str) -> None:
    """Stable is not enough: where a stage folds, full moment looks as good as none, and the vehicle tumbles."""
    vehicle = resolvable(load_vehicle("bluerov2_heavy", name))
    for axis in range(3):
        assert np.all(np.diff(rates_after_a_stage(vehicle, axis)) > 0), axis


def test_one_step_a_stage_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulation, "SUBSTEPS", 1)
    vehicle = resolvable(load_vehicle("bluerov2_heavy", "von_benzon2022"))
    assert min(np.diff(rates_after_a_stage(vehicle, axis)).min() for axis in range(3)) < 0


def test_a_light_fleet_stays_upright_in_waves_wherever_it_starts() -> None:
    """With one step a stage: 136° after 7 s, by full moment one way and then the other; seen on ROS as well."""
    simulator = build_run(RunSpec("circle", "fosso2023_two", "current_05_waves", 3, duration_s=10.0)).simulator
    states = simulator.world.plant.states
    states[:, POSITION] += 0.2 * np.random.default_rng(5).standard_normal((len(states), 3))
    for _ in simulator.ticks():
        for state in simulator.world.states:
            assert np.rad2deg(tilt_rad(state[ATTITUDE])) < 45.0
