"""Another vehicle between two steps: 8 → 16 → 8 inputs, with the solver at hand and while it is being compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shoal import codegen
from shoal.benchmarks.exchange import run as run_benchmark
from shoal.control.nmpc.backends.kernel import load_kernel
from shoal.control.nmpc.controller import NmpcController
from shoal.fleet.actuation import carried_over
from shoal.messages.health import Code, Mode
from shoal.vehicles.description import Vehicle
from swim import NAME, STARTS_M, VEHICLE, Swim, codes
from vehicles_for_tests import with_thrusters

needs_compiler = pytest.mark.skipif(codegen.compiler() is None, reason="no C compiler")
SPEED_MPS = (0.2, 0.0, 0.0)


def pair(count: int = 8) -> Vehicle:
    """Twice the vehicle and `count` more thrusters, as if another one had been joined to it."""
    more = tuple(replace(t, name=f"other_{t.name}") for t in VEHICLE.thrusters[:count])
    return replace(
        VEHICLE.scaled(mass=2, added_mass=2, damping=2, inertia=2),
        buoyancy_N=2 * VEHICLE.buoyancy_N,
        thrusters=VEHICLE.thrusters + more,
    )


def exchange(swim: Swim, vehicle: Vehicle) -> None:
    """In the water and in the description."""
    swim.start_with(vehicle, swim.state)
    count = min(len(swim.thrust_N), vehicle.input_count)
    swim.plant.forces_N[0][:count] = swim.thrust_N[:count]
    swim.runtime.set_vehicle(vehicle)
    swim.thrust_N = np.concatenate([swim.thrust_N, np.zeros(8)])[: vehicle.input_count]


def test_inputs_of_the_same_name_go_on() -> None:
    u = np.arange(1.0, 9.0)
    joined = carried_over(VEHICLE, pair(), u)
    np.testing.assert_array_equal(joined, [*u, *np.zeros(8)])
    np.testing.assert_array_equal(carried_over(pair(), VEHICLE, joined), u)


def test_inputs_of_other_names_push_as_before() -> None:
    renamed = replace(VEHICLE, thrusters=tuple(replace(t, name=f"x{t.name}") for t in VEHICLE.thrusters))
    u = np.random.default_rng(1).uniform(-3, 3, 8)
    found = carried_over(VEHICLE, renamed, u)
    assert renamed.input_matrix @ found == pytest.approx(VEHICLE.input_matrix @ u, abs=1e-9)


def test_eight_sixteen_eight_inputs_in_flight() -> None:
    """Every step steers, the next one with the new vehicle already, and thrust goes on where it was."""
    swim = Swim()
    swim.run(3.0, velocity_mps=SPEED_MPS)
    for vehicle in (pair(), VEHICLE):
        before = swim.thrust_N.copy()
        exchange(swim, vehicle)
        first = swim.run(0.05, velocity_mps=SPEED_MPS)
        assert first[0].mode is Mode.CONTROLLER
        assert swim.thrust_N.shape == (vehicle.input_count,)
        shared = min(len(before), vehicle.input_count)
        assert np.abs(swim.thrust_N[:shared] - before[:shared]).max() < 4.0  # N; the limit is 12 N a period
        found = swim.run(3.0, velocity_mps=SPEED_MPS)
        assert {h.mode for h in found} == {Mode.CONTROLLER}
        assert swim.off_m(STARTS_M[NAME] + np.array([0.2 * swim.t_s, 0, 0])) < 0.1


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SHOAL_CACHE", str(tmp_path))
    load_kernel.cache_clear()
    codegen.compile_in_background()
    yield
    codegen.compile_in_background(False)
    load_kernel.cache_clear()


def wait_for_compilers() -> None:
    for thread in list(codegen._threads.values()):
        thread.join(120)


@needs_compiler
def test_a_pid_steers_while_the_solver_is_compiled(monkeypatch: pytest.MonkeyPatch, empty_cache: None) -> None:
    """A vehicle of thirteen inputs, as no other test has: filter and feed-forward are interpreted until then."""
    codegen.compile_in_background(False)
    swim = Swim()
    swim.run(3.0, velocity_mps=SPEED_MPS)
    controller = swim.runtime.agent.controller
    assert isinstance(controller, NmpcController) and controller.backend == "kernel"
    codegen.compile_in_background()
    exchange(swim, pair(5))
    found = swim.run(0.5, velocity_mps=SPEED_MPS)
    assert {h.mode for h in found} == {Mode.CONTROLLER}
    if controller.backend == "pid":  # unless compilers have become that fast
        assert Code.SOLVER_COMPILING in codes(found[0])
        assert not controller.lag_compensation
    wait_for_compilers()
    later = swim.run(4.0, velocity_mps=SPEED_MPS)
    assert {h.mode for h in later} == {Mode.CONTROLLER}
    assert controller.backend == "kernel" and controller.lag_compensation
    assert not any(h.issues for h in later[40:])
    assert not codegen._later
    assert swim.off_m(STARTS_M[NAME] + np.array([0.2 * swim.t_s, 0, 0])) < 0.15


@needs_compiler
def test_functions_are_exchanged_in_place(empty_cache: None) -> None:
    import casadi as ca

    x = ca.SX.sym("x", 3)
    function = codegen.compiled(ca.Function("exchanged", [x], [ca.sin(x) * 3]))
    assert not function.is_a("External")
    buffered = codegen.Buffered(function)
    buffered.inputs[0][:], result = [0.1, 0.2, 0.3], buffered.outputs[0]
    buffered.call()
    before = result.copy()
    wait_for_compilers()
    codegen.take_compiled()
    assert buffered.function.is_a("External")
    result[:] = 0.0
    buffered.call()
    assert result == pytest.approx(before, rel=1e-15)


def test_a_solver_serves_fewer_thrusters_without_a_compiler() -> None:
    """Six of eight: the same one."""
    swim = Swim()
    swim.run(1.0, velocity_mps=SPEED_MPS)
    controller = swim.runtime.agent.controller
    assert isinstance(controller, NmpcController)
    solver = controller.nmpc.backend
    swim.runtime.set_vehicle(with_thrusters(VEHICLE, 0, 1, 2, 4, 5, 6))
    assert controller.nmpc.backend is solver


def test_the_benchmark_flies_what_it_times() -> None:
    figures = {row.label: row.value for row in run_benchmark(quick=True).rows}
    assert figures["every step steered by the controller"] == 1.0
    assert figures["distance from the line, 3 s after each"] < 1.0  # cm
    assert 0.0 < figures["largest change of an input at an exchange"] < 12.0  # N, what a period may change
