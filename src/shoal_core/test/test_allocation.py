"""Wrench to inputs: against scipy's bounded least squares, in machine code and in numpy, for any set of thrusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from shoal.codegen import compiler
from shoal.vehicles.actuators import Thruster
from shoal.vehicles.allocation import Allocator, allocate, largest
from shoal.vehicles.description import Vehicle
from vehicles_for_tests import SETS, shipped, with_thrusters

Array = NDArray[np.float64]
TAU_MAX = np.array([127.32, 127.32, 199.81, 39.25, 21.61, 34.00])  # Ng 2024
HEAVY = shipped("ng2024")
BOAT = with_thrusters(HEAVY, 0, 1, 2, 3)
VEHICLES = {
    "eight": HEAVY,
    "six": with_thrusters(HEAVY, 0, 1, 2, 3, 4, 5),
    "boat": BOAT,
    "one": with_thrusters(HEAVY, 4),
    "sixteen": replace(HEAVY, thrusters=HEAVY.thrusters * 2),
}
FORMS = [pytest.param(True, marks=pytest.mark.skipif(compiler() is None, reason="no C compiler")), False]


def judged(vehicle: Vehicle, allocator: Allocator, wrench: Array) -> Array:
    """The same problem by scipy: weighted wrench above, effort below."""
    count, matrix = vehicle.input_count, vehicle.input_matrix
    effort = np.sqrt((allocator.hessian - allocator.pull @ matrix)[0, 0])
    rows = np.vstack([allocator.weights[:, None] * matrix, effort * np.eye(count)])
    wanted = np.concatenate([allocator.weights * wrench, np.zeros(count)])
    bounds = (allocator.lower_N, allocator.upper_N)
    return np.asarray(lsq_linear(rows, wanted, bounds, method="bvls", tol=1e-15, max_iter=1000).x)


@pytest.mark.parametrize("compiled", FORMS)
@pytest.mark.parametrize("priority", ["attitude", "equal", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)])
@pytest.mark.parametrize("name", VEHICLES)
def test_equals_scipy(name: str, priority: str, compiled: bool) -> None:
    vehicle, rng = VEHICLES[name], np.random.default_rng(1)
    allocator, pinv = Allocator(vehicle, priority, compiled), np.linalg.pinv(vehicle.input_matrix)  # type: ignore[arg-type]
    saturated = 0
    for _ in range(60):
        wrench = rng.uniform(-1, 1, 6) * TAU_MAX * rng.choice([0.1, 0.6, 1.0, 3.0])
        thrust = allocator(wrench)
        assert np.all(thrust <= vehicle.input_max_N) and np.all(thrust >= vehicle.input_min_N)
        if np.any(thrust == vehicle.input_max_N) or np.any(thrust == vehicle.input_min_N):
            saturated += 1
            np.testing.assert_allclose(thrust, judged(vehicle, allocator, wrench), atol=1e-8)
        elif len(vehicle.controlled_axes) == 6:
            np.testing.assert_allclose(thrust, pinv @ wrench, atol=1e-9)
    assert saturated > 5


@pytest.mark.parametrize("name", VEHICLES)
def test_machine_code_equals_numpy(name: str) -> None:
    if compiler() is None:
        pytest.skip("no C compiler")
    vehicle, rng = VEHICLES[name], np.random.default_rng(2)
    native, plain = Allocator(vehicle), Allocator(vehicle, compiled=False)
    for _ in range(200):
        wrench = rng.uniform(-1.5, 1.5, 6) * TAU_MAX
        np.testing.assert_allclose(native(wrench), plain(wrench), atol=1e-8)


@pytest.mark.parametrize("compiled", FORMS)
def test_a_boat_asked_for_too_much_goes_forward(compiled: bool) -> None:
    """The former linear program kept the direction of the wrench, found factor 0 and drove thrusters at each other."""
    thrust = Allocator(BOAT, compiled=compiled)(np.array([500.0, 0, 0, 0, 0, 0]))
    np.testing.assert_allclose(thrust, BOAT.input_max_N)
    assert (BOAT.input_matrix @ thrust)[0] == pytest.approx(largest(BOAT, 0, 1))
    assert Allocator(BOAT, compiled=compiled)(np.array([0, 0, 500.0, 0, 0, 0])) == pytest.approx(0.0, abs=1e-9)


def test_attitude_first_keeps_moments() -> None:
    """Share of the wrench that is lost, U(±60 %) of the largest on all axes: 95th percentiles of force and moment."""
    rng = np.random.default_rng(3)
    wrenches = rng.uniform(-0.6, 0.6, (2000, 6)) * TAU_MAX
    lost: dict[str, tuple[float, float]] = {}
    for priority in ("attitude", "equal"):
        allocator = Allocator(HEAVY, priority)  # type: ignore[arg-type]
        error = np.array([HEAVY.input_matrix @ allocator(w) - w for w in wrenches])
        sizes = [np.linalg.norm(part, axis=1) for part in (error[:, :3], error[:, 3:])]
        lost[priority] = (float(np.percentile(sizes[0], 95)), float(np.percentile(sizes[1], 95)))
        assert np.median(sizes[0] / np.linalg.norm(wrenches[:, :3], axis=1)) < 0.01
    assert lost["attitude"][1] < 1.0 < lost["equal"][1]
    assert lost["attitude"][0] > lost["equal"][0]


def test_a_small_vehicle_decides_as_a_large_one() -> None:
    """Half the size and a hundredth of the thrust: the same share of each input."""

    def shrunk(t: Thruster) -> Thruster:
        limits = {"max_forward_N": t.max_forward_N / 100, "max_reverse_N": t.max_reverse_N / 100}
        return replace(t, position_m=t.position_m / 2, **limits)

    small = replace(HEAVY, thrusters=tuple(shrunk(t) for t in HEAVY.thrusters))
    wrench = np.array([0.5, -0.7, 0.3, 0.6, -0.4, 0.8]) * TAU_MAX
    scaled = wrench * np.repeat([1 / 100, 1 / 200], 3)
    np.testing.assert_allclose(allocate(small, scaled) * 100, allocate(HEAVY, wrench), atol=1e-6)


@pytest.mark.parametrize("compiled", FORMS)
def test_an_input_taken_out_gives_nothing_and_the_others_do_its_work(compiled: bool) -> None:
    allocator, wrench = Allocator(HEAVY, compiled=compiled), np.array([20.0, 10.0, 15.0, 0.5, 0.5, 1.0])
    for dead in range(8):
        alive = np.arange(8) != dead
        allocator.set_bounds(HEAVY.input_min_N * alive, HEAVY.input_max_N * alive)
        thrust = allocator(wrench)
        assert thrust[dead] == 0.0
        np.testing.assert_allclose(HEAVY.input_matrix @ thrust, wrench, rtol=2e-3, atol=2e-3)


def test_too_large_a_wrench_is_met_as_far_as_it_goes() -> None:
    for name in SETS:
        vehicle, rng = shipped(name), np.random.default_rng(4)
        for _ in range(20):
            wrench = rng.uniform(-1, 1, 6) * np.array([300, 300, 300, 40, 40, 40])
            allocator = Allocator(vehicle)
            missing = vehicle.input_matrix @ allocator(wrench) - wrench
            assert np.linalg.norm(allocator.weights * missing) < np.linalg.norm(allocator.weights * wrench)


def test_bad_priorities_are_refused() -> None:
    with pytest.raises(ValueError, match="priority = 'depth', expected attitude or equal, or six weights"):
        Allocator(HEAVY, "depth")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected six weights ≥ 0"):
        Allocator(HEAVY, (1.0, 2.0))
