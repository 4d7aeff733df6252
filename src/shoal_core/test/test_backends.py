"""Back ends against each other: our QP solver against HPIPM, the real-time iteration against converged programs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal import codegen
from shoal.codegen import compiler
from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.backends.hpipm import Hpipm, HpipmVm
from shoal.control.nmpc.nmpc import Goal, Nmpc
from shoal.control.nmpc.problem import REPORT, Problem
from shoal.errors import ShoalError
from shoal.messages.state import ATTITUDE
from solver_problems import bad_scene, controller, randomise, rov, scene, stage_dynamics

Array = NDArray[np.float64]
RTI = ["hpipm-vm"] if compiler() is None else ["kernel", "hpipm-vm"]
NLP = [("ipopt-vm", np.nan), ("fatrop-vm", np.inf)]
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler")
STRAIGHT = 1e9  # a trust region that never binds


def report(problem: Problem) -> dict[str, float]:
    return dict(zip(REPORT, problem.report, strict=True))


class VmPerRow(HpipmVm):
    """As the kernel: a soft and a hard slack for every row."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, shared_slacks=False)


@needs_compiler
@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("damped", [False, True])
def test_our_qp_solver_agrees_with_hpipm(places: int, damped: bool) -> None:
    """Also with thrust at its limits, rows active and hard bounds violated; the damped step as well."""
    nmpc = controller(places, "kernel")
    problem, judge = nmpc.problem, VmPerRow(nmpc.problem)
    boxes, soft, hard = 0, 0, 0
    for seed in range(12):
        randomise(problem, seed)
        problem.max_step[:] = STRAIGHT
        if damped:  # by position, quaternion and velocities in turn
            problem.max_step[seed % 3] = 0.02
        x, u = problem.x.copy(), problem.u.copy()
        assert nmpc.backend.iterate(100, 1e-10) == 0
        ours, our_report = (problem.x.copy(), problem.u.copy()), report(problem)
        problem.x[:], problem.u[:] = x, u
        assert judge.iterate(200, 1e-10) == 0
        theirs = report(problem)
        assert ours[0] == pytest.approx(problem.x, abs=2e-5)
        assert ours[1] == pytest.approx(problem.u, abs=1e-3)
        for name in ("cost", "step", "slack_soft", "slack_hard"):
            assert our_report[name] == pytest.approx(theirs[name], rel=1e-4, abs=1e-5), name
        bound = np.isclose(np.abs(ours[1]), rov().thrust_max_N, atol=1e-5)
        assert (theirs["step"] < 1.0) == damped
        boxes += int(bound.sum())
        soft += theirs["slack_soft"] > 0.05
        hard += theirs["slack_hard"] > 0.02
    if not damped:  # else thrust is only part of the way to its limits
        assert boxes > 20
    assert soft >= 5
    assert hard >= 3


@pytest.mark.parametrize("seed", range(3))
def test_shared_slacks_are_the_same_for_one_neighbour(seed: int) -> None:
    nmpc = controller(1, VmPerRow)
    shared = HpipmVm(nmpc.problem)
    randomise(nmpc.problem, seed)
    x, u = nmpc.problem.x.copy(), nmpc.problem.u.copy()
    assert nmpc.backend.iterate(100, 1e-8) == 0
    found = nmpc.problem.u.copy()
    nmpc.problem.x[:], nmpc.problem.u[:] = x, u
    assert shared.iterate(100, 1e-8) == 0
    assert found == pytest.approx(nmpc.problem.u, abs=1e-4)


def test_hpipm_called_again_gives_the_same_answer() -> None:
    """CasADi's interface adds to its outputs and spoils their pointers; see hpipm.py."""
    nmpc = controller(2, "hpipm-vm")
    found = []
    for seed in (0, 1, 0, 0):
        randomise(nmpc.problem, seed)
        nmpc.backend.iterate(50, 1e-6)
        found.append(nmpc.problem.u.copy())
    assert np.array_equal(found[0], found[2])
    assert np.array_equal(found[0], found[3])
    assert not np.allclose(found[0], found[1])


@needs_compiler
def test_machine_code_and_virtual_machine_agree() -> None:
    nmpc = controller(1, "hpipm")
    assert isinstance(nmpc.backend, Hpipm)
    vm = HpipmVm(nmpc.problem)
    randomise(nmpc.problem, 3)
    x, u = nmpc.problem.x.copy(), nmpc.problem.u.copy()
    nmpc.backend.iterate(50, 1e-6)
    found = nmpc.problem.u.copy()
    nmpc.problem.x[:], nmpc.problem.u[:] = x, u
    vm.iterate(50, 1e-6)
    assert found == pytest.approx(nmpc.problem.u, abs=1e-6)


def solve(nmpc: Nmpc, places: int) -> None:
    x0, goal, others = scene(places, len(nmpc.times_s))
    trim = nmpc.problem.free[0].copy()
    assert nmpc.solve(x0, trim, goal, others, np.zeros(6), np.zeros(3), 0.0).usable


def test_real_time_iterations_converge_to_the_solution_of_ipopt_and_fatrop() -> None:
    places = 2
    rti = controller(places, RTI[0])
    solve(rti, places)
    for _ in range(30):
        assert rti.backend.iterate(60, 1e-8) < 2
    assert report(rti.problem)["slack_soft"] > 0.01  # the scene is one where rows work
    for name in ("ipopt-vm", "fatrop-vm"):
        other = controller(places, name)
        solve(other, places)
        assert report(other.problem)["status"] == 0
        assert report(other.problem)["cost"] == pytest.approx(report(rti.problem)["cost"], rel=1e-3)
        assert other.problem.x[:, :3] == pytest.approx(rti.problem.x[:, :3], abs=1e-3)
        assert other.problem.x[:, ATTITUDE] == pytest.approx(rti.problem.x[:, ATTITUDE], abs=1e-3)
        assert other.problem.u == pytest.approx(rti.problem.u, abs=0.05)


def closed_loop_cost(backend: str, steps: int, wanted: Array, places: int = 1) -> float:
    """Stage costs along the motion of the model, from rest beside a setpoint that moves on the circle of Fosso 2023."""
    nmpc = controller(places, backend)
    problem, cost = nmpc.problem, nmpc.problem.formulation.cost()
    dynamics = stage_dynamics(problem.formulation)
    x, _, others = scene(places, len(nmpc.times_s), 2.4)
    trim = problem.free[0].copy()
    previous, total = trim, 0.0
    weights, prices = nmpc.settings.weights, nmpc.settings.penalties
    for k in range(steps):
        t = 0.1 * k + nmpc.times_s
        angle = np.pi * t / 100
        ring = np.stack([5 * np.cos(angle) - 5, 5 * np.sin(angle), np.sin(4 * angle) + 5], axis=1) + wanted
        speed = np.pi / 100 * np.stack([-5 * np.sin(angle), 5 * np.cos(angle), 4 * np.cos(4 * angle)], axis=1)
        others.positions_m[0] = ring + [2.2, 0.3, 0.0]
        goal = Goal(ring, speed, 0.1 * np.ones(len(t)))
        solution = nmpc.solve(x, previous, goal, others, np.zeros(6), np.zeros(3), 0.1)
        assert solution.usable
        previous = solution.thrust_N
        x = np.array(dynamics(x, previous, 0.1, problem.globals)[0]).ravel()
        x[ATTITUDE] /= np.linalg.norm(x[ATTITUDE])
        problem.position_ref[0], problem.velocity_ref[0] = ring[1], speed[1]
        short = float(np.maximum(0.0, 2.0 - np.linalg.norm(others.positions_m[0, 1] - x[:3])))
        effort = float(np.sum((previous - trim) ** 2))
        total += float(cost(x, problem.stages[0], problem.globals)[5]) + weights.thrust * effort
        total += prices.distance_soft * short + prices.quadratic / 2 * short**2
    return total


def test_closed_loop_costs_no_more_than_five_percent_above_ipopt() -> None:
    start = np.array([0.4, -0.3, 0.2])
    reference = closed_loop_cost("ipopt-vm", 15, start)
    assert reference > 10.0  # something to lose
    for backend in RTI:
        assert closed_loop_cost(backend, 15, start) <= 1.05 * reference


@pytest.mark.slow
@pytest.mark.parametrize("start", [[0.0, 0.0, 0.0], [-0.5, 0.3, 0.3]])
def test_long_closed_loop_costs_no_more_than_five_percent_above_ipopt(start: list[float]) -> None:
    reference = closed_loop_cost("ipopt-vm", 80, np.array(start))
    for backend in RTI:
        assert closed_loop_cost(backend, 80, np.array(start)) <= 1.05 * reference


@pytest.mark.parametrize(("backend", "count"), [("kernel", 200), ("hpipm-vm", 20)])
def test_feasible_from_every_state(backend: str, count: int) -> None:
    """Facing away, touching, upside down, goals and speeds beyond reach: always a usable answer within the limits."""
    if backend not in RTI:
        pytest.skip("no C compiler")
    nmpc = controller(3, backend)
    lower, upper = rov().thrust_min_N, rov().thrust_max_N
    for seed in range(count):
        x0, previous, goal, others = bad_scene(seed, 3, nmpc.times_s)
        nmpc.needs_cold_start = seed % 2 == 0  # every other one starts from the guess of a quite different problem
        solution = nmpc.solve(x0, previous, goal, others, np.zeros(6), np.zeros(3), 0.1)
        assert solution.usable, f"seed {seed}: status {solution.status}"
        assert np.isfinite(solution.states).all()
        assert (solution.thrusts_N >= lower - 1e-9).all()
        assert (solution.thrusts_N <= upper + 1e-9).all()
        step = np.abs(solution.thrust_N - previous).max()
        assert step <= nmpc.settings.thrust_step_N + 1e-6
        assert np.linalg.norm(solution.states[:, ATTITUDE], axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("backend", RTI)
def test_guesses_beyond_the_limits_are_brought_back(backend: str) -> None:
    nmpc = controller(1, backend)
    randomise(nmpc.problem, 4)
    nmpc.problem.u[:] = 40.0
    for _ in range(12):
        assert nmpc.backend.iterate(50, 1e-3) < 2
    assert np.abs(nmpc.problem.u).max() <= 6.2 + 1e-9


PARTS = ["x", "u", "others", "position_ref", "quaternion_ref", "previous", "wrench", "current", "theta", "soft_m"]
PARTS += ["weights", "penalties", "trim", "terminal"]


@pytest.mark.parametrize(("backend", "value"), [*((b, v) for b in RTI for v in (np.nan, np.inf)), *NLP])
def test_what_is_not_a_number_is_refused(backend: str, value: float) -> None:
    nmpc = controller(2, backend)
    problem = nmpc.problem
    rows = {"previous": problem.limits[2], "trim": problem.free[0]}
    for part in PARTS:
        kept = {name: getattr(problem, name).copy() for name in ("globals", "weights", "penalties", "limits", "free")}
        randomise(problem, 2)
        array = rows[part] if part in rows else getattr(problem, part, None)
        array = problem.block(part) if array is None else array
        array.flat[array.size // 2] = value
        x, u = problem.x.copy(), problem.u.copy()
        assert nmpc.backend.iterate(25, 1e-3) >= 2, f"{part} = {value}"
        assert np.array_equal(problem.x, x, equal_nan=True), part
        assert np.array_equal(problem.u, u, equal_nan=True), part
        for name, values in kept.items():
            getattr(problem, name)[:] = values
    randomise(problem, 1)
    assert nmpc.backend.iterate(25, 1e-3) < 2  # and it works again


def test_back_end_is_chosen_by_name_and_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ShoalError, match=r"backend = 'cplex'.*kernel"):
        choose_backend("cplex")
    monkeypatch.setattr("shoal.control.nmpc.backends.compiler", lambda: None)
    assert choose_backend("auto") is Hpipm
    monkeypatch.setattr("shoal.control.nmpc.backends.compiler", lambda: "/usr/bin/cc")
    assert choose_backend("auto").__name__ == "Kernel"


def test_bench_rows_have_what_readers_of_the_json_expect() -> None:
    from shoal.benchmarks.solver import measure

    rows = measure(("nmpc",), quick=True)
    assert [row["controller"] for row in rows] == ["nmpc"]
    keys = ("median_ms", "p99_ms", "max_ms", "build_s", "rmse_m", "distance_min_m", "fov_max_deg", "failures")
    assert all(np.isfinite(rows[0][key]) for key in keys)
    assert rows[0]["failures"] == 0
    assert rows[0]["median_ms"] <= rows[0]["p99_ms"] <= rows[0]["max_ms"]
    assert rows[0]["distance_min_m"] > 1.9
    assert codegen.cache_directory().name  # the caller's cache is back


@needs_compiler
def test_controllers_that_share_scratch_memory_do_not_spoil_each_other() -> None:
    """Neither one that was fed NaN, nor another size, nor another thread."""
    nmpc, ruined, other = controller(2, "kernel"), controller(2, "kernel"), controller(3, "kernel")

    def solve(seed: int) -> Array:
        randomise(nmpc.problem, seed)
        nmpc.backend.iterate(50, 1e-6)
        return nmpc.problem.u.copy()

    alone = [solve(seed) for seed in range(4)]
    for seed in range(4):
        for victim in (ruined, other):
            randomise(victim.problem, seed + 10)
            victim.problem.stages[1 + seed * 4, :] = np.nan
            assert victim.backend.iterate(50, 1e-6) >= 2
        np.testing.assert_array_equal(solve(seed), alone[seed])
    randomise(ruined.problem, 20)
    ruined.backend.iterate(50, 1e-6)
    right = ruined.problem.u.copy()

    def again(_: int) -> Array:
        """Each thread has its own problem and should have its own scratch memory."""
        mine = controller(2, "kernel")
        for _ in range(40):
            randomise(mine.problem, 20)
            mine.backend.iterate(50, 1e-6)
        return mine.problem.u

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(again, range(4)):
            np.testing.assert_array_equal(found, right)
