"""Rules of the optimisation that a closed loop hides: each one's effect as a number that is another without it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.nmpc import Goal, Nmpc, Others, Solution
from shoal.control.settings import Approach, NmpcSettings, Weights
from shoal.frames import tilt_rad
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY, State
from shoal.vehicles.description import Vehicle
from solver_problems import rov, scene, stage_dynamics

Array = NDArray[np.float64]
STILL, CURRENT = np.zeros(6), np.zeros(3)
DEPTH_M = 5.0


def make(settings: NmpcSettings, places: int = 1, vehicle: Vehicle | None = None) -> Nmpc:
    return Nmpc(vehicle or rov(), settings, places, choose_backend("auto"))


def towards(nmpc: Nmpc, point: list[float], yaw_rad: float = 0.0) -> Goal:
    points = len(nmpc.times_s)
    return Goal(np.tile(point, (points, 1)), np.zeros((points, 3)), np.full(points, yaw_rad))


def alone(nmpc: Nmpc) -> Others:
    return Others.none(nmpc.most, len(nmpc.times_s))


class Swimmer:
    """The model itself under the controller: no noise, no lag, no estimator."""

    def __init__(self, nmpc: Nmpc, x: float, yaw_rad: float = 0.0) -> None:
        self.nmpc, self.state = nmpc, State.at_rest((x, 0.0, DEPTH_M), yaw_rad).array
        self._dynamics = stage_dynamics(nmpc.problem.formulation)
        self._thrust = nmpc.problem.free[0].copy()  # trim

    def decide(self, goal: Goal, others: Others) -> Solution:
        solution = self.nmpc.solve(self.state, self._thrust, goal, others, STILL, CURRENT, 0.1)
        assert solution.usable
        self._thrust = solution.thrust_N
        return solution

    def move(self) -> None:
        moved = self._dynamics(self.state, self._thrust, 0.1, self.nmpc.problem.globals)[0]
        self.state = np.array(moved).ravel()
        self.state[ATTITUDE] /= np.linalg.norm(self.state[ATTITUDE])


# -- terminal cost ------------------------------------------------------------------------------------------------


def cost_to_go(settings: NmpcSettings, offset_m: list[float], yaw_rad: float) -> float:
    """Of the converged problem: back to the origin, from rest beside it."""
    nmpc = make(settings)
    x0 = State.at_rest((0.0, 0.0, DEPTH_M), yaw_rad).array
    x0[POSITION] += offset_m
    trim = nmpc.problem.free[0].copy()
    for _ in range(12):
        solution = nmpc.solve(x0, trim, towards(nmpc, [0, 0, DEPTH_M]), alone(nmpc), STILL, CURRENT, 0.0)
    return solution.cost


@pytest.mark.parametrize(("offset_m", "yaw_rad"), [([0.1, 0, 0], 0.0), ([0, 0.1, 0.1], 0.0), ([0.3, 0.2, 0.1], 0.3)])
def test_terminal_cost_stands_for_all_that_comes_after_the_horizon(offset_m: list[float], yaw_rad: float) -> None:
    """1 s and P cost what 20 s cost, to 2 %; without P it is 15 % less, as if the way back ended there."""
    short = cost_to_go(NmpcSettings(fine_steps=10), offset_m, yaw_rad)
    long = cost_to_go(NmpcSettings(fine_steps=10, coarse_steps=50, coarse_step_s=0.38), offset_m, yaw_rad)
    assert short == pytest.approx(long, rel=0.02)


# -- proximal term ------------------------------------------------------------------------------------------------


def plan_change_N(proximal: float, iterations: int) -> tuple[float, Array]:
    """How far the thrust plan of a vehicle at rest moves (RMS) when a goal and neighbours appear; and the plan."""
    nmpc = make(NmpcSettings(weights=Weights(proximal=proximal)), places=2)
    nmpc.problem.block("terminal")[:] = 0.0  # which depends on that weight as well
    x0, goal, others = scene(2, len(nmpc.times_s))
    trim = nmpc.problem.free[0].copy()
    for _ in range(10):
        nmpc.solve(x0, trim, towards(nmpc, x0[POSITION].tolist()), alone(nmpc), STILL, CURRENT, 0.0)
    before = nmpc.problem.u.copy()
    for _ in range(iterations):
        assert nmpc.solve(x0, trim, goal, others, STILL, CURRENT, 0.0).usable
    return float(np.sqrt(np.mean((nmpc.problem.u - before) ** 2))), nmpc.problem.u.copy()


def test_proximal_weight_slows_an_iteration_and_leaves_the_solution_alone() -> None:
    free_N, _ = plan_change_N(0.0, 1)
    assert free_N > 2.0
    assert plan_change_N(Weights().proximal, 1)[0] / free_N == pytest.approx(0.93, abs=0.03)  # as shipped
    assert plan_change_N(1.0, 1)[0] / free_N == pytest.approx(0.28, abs=0.05)
    _, unhindered = plan_change_N(0.0, 60)
    _, damped = plan_change_N(0.1, 200)
    assert damped == pytest.approx(unhindered, abs=0.1)


# -- reach of the reference ---------------------------------------------------------------------------------------


def fastest(distance_m: float, approach: Approach) -> tuple[float, float]:
    """Largest speed and tilt (deg) on the way to a point ahead."""
    nmpc = make(NmpcSettings(approach=approach), vehicle=rov().with_thrust_limit(16.6))
    swimmer, speeds, tilts = Swimmer(nmpc, 0.0), [0.0], [0.0]
    for _ in range(60):
        swimmer.decide(towards(nmpc, [distance_m, 0, DEPTH_M]), alone(nmpc))
        swimmer.move()
        speeds.append(float(swimmer.state[VELOCITY][0]))
        tilts.append(float(np.degrees(tilt_rad(swimmer.state[ATTITUDE]))))
    return max(speeds), max(tilts)


def test_from_afar_the_speed_is_the_approach_s_whatever_the_distance() -> None:
    """Drawn by the whole error it would rush at 1.6 m/s, all that the thrusters give, and tilt by 38°."""
    near, far = fastest(6.0, Approach()), fastest(20.0, Approach())
    assert far[0] == pytest.approx(0.99, abs=0.05)
    assert far[0] == pytest.approx(near[0], rel=0.01)
    assert far[1] < 10.0
    assert fastest(20.0, Approach(speed_mps=0.2))[0] == pytest.approx(0.72, abs=0.05)
    assert fastest(20.0, Approach(reach_m=0.1))[0] == pytest.approx(0.55, abs=0.05)


# -- hard distance ------------------------------------------------------------------------------------------------


def squeezed_m(settings: NmpcSettings) -> Array:
    """Distances (T,) of two that face each other and are both sent to the middle, on each other's plans."""
    two = [Swimmer(make(settings), -1.25), Swimmer(make(settings), 1.25, np.pi)]
    points = len(two[0].nmpc.times_s)
    plans = [np.tile(s.state[POSITION], (points, 1)) for s in two]
    limits = (
        np.full((1, points), settings.limits.distance_soft_m),
        np.full((1, points), settings.limits.distance_hard_m),
    )
    distances = []
    for _ in range(60):
        found = []
        for i, swimmer in enumerate(two):
            goal = towards(swimmer.nmpc, [0.0, 0.0, DEPTH_M], i * np.pi)
            found.append(swimmer.decide(goal, Others(plans[1 - i][None], *limits, np.ones(1))).states[:, POSITION])
        for swimmer in two:
            swimmer.move()
        plans = [np.vstack([plan[1:], plan[-1:]]) for plan in found]
        distances.append(float(np.linalg.norm(two[0].state[POSITION] - two[1].state[POSITION])))
    return np.array(distances)


def test_pushed_together_they_give_up_the_soft_distance_and_keep_the_hard_one() -> None:
    """The pull is worth more than the soft price and less than the hard one; without the latter they meet at 0.41 m."""
    distances = squeezed_m(NmpcSettings(weights=Weights(position_xy=1000.0, position_z=1000.0)))
    assert distances[-1] < 0.8  # the soft 2 m do not hold
    assert distances.min() > 0.75 - 0.005
    relaxed = squeezed_m(NmpcSettings())
    assert relaxed.min() > 1.95  # with the shipped weights they do


# -- sight --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("yaw_rad", "side"), [(2.3, 1.0), (2.3, -1.0), (-0.8, 1.0)])
def test_who_is_out_of_sight_is_brought_back_into_it(yaw_rad: float, side: float) -> None:
    """70° off a bow that points anywhere, nothing else asked for: within the soft 30° by the end of the plan."""
    nmpc = make(NmpcSettings(weights=Weights(attitude=0.0, position_xy=0.0, position_z=0.0, velocity=0.0)))
    points, x0 = len(nmpc.times_s), State.at_rest((0.0, 0.0, DEPTH_M), yaw_rad).array
    bearing = yaw_rad + side * np.radians(70)
    seen_m = x0[POSITION] + 3.0 * np.array([np.cos(bearing), np.sin(bearing), 0.0])
    others = Others(np.tile(seen_m, (1, points, 1)), np.full((1, points), 2.0), np.full((1, points), 0.75), np.ones(1))
    assert sight_angle_deg(x0, seen_m) == pytest.approx(70.0)
    goal, trim = towards(nmpc, x0[POSITION].tolist(), yaw_rad), nmpc.problem.free[0].copy()
    solution = nmpc.solve(x0, trim, goal, others, STILL, CURRENT, 0.0)
    assert solution.usable
    assert sight_angle_deg(solution.states[-1], seen_m) < 31.0
