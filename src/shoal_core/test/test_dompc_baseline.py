"""The controller of Fosso 2023, kept for comparison: it steers, and it breaks down where its author says it does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.baselines.dompc import DompcController, DompcSettings
from shoal.control.base import ControllerContext, ControlOutput, Estimate, NeighbourForecast
from shoal.fleet.neighbours import NeighbourSettings, PlanForecast
from shoal.messages.directive import Directive
from shoal.messages.health import Code
from shoal.messages.limits import Limits
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import State
from solver_problems import rov

Array = NDArray[np.float64]
DEPTH_M = 5.0


def make() -> DompcController:
    return DompcController(ControllerContext("a", rov(), DompcSettings(), Limits(), 0.05, ("b",)))


@pytest.fixture(scope="module")
def baseline() -> DompcController:
    return make()


def estimate(t_s: float, yaw_deg: float, estimated_m: float = 0.0) -> Estimate:
    """Measured at the origin; what the estimator makes of it is no concern of this controller."""
    measured = State.at_rest((0.0, 0.0, DEPTH_M), np.deg2rad(yaw_deg)).array
    estimated = State.at_rest((estimated_m, 0.0, DEPTH_M)).array
    wrench = np.full(6, estimated_m)
    return Estimate(t_s, t_s, estimated, wrench, np.zeros(3), True, np.zeros(8), Odometry(t_s, measured))


def point(x: float, y: float) -> Preview:
    return Preview(np.array([0.0, 10.0]), np.tile([x, y, DEPTH_M], (2, 1)), np.zeros((2, 3)))


def ahead(t_s: float, sent_s: float = 0.0, velocity_mps: float = 0.0) -> NeighbourForecast:
    """A neighbour that was 3 m ahead when it last sent its state."""
    velocity = np.array([[velocity_mps, 0.0, 0.0]])
    plan = Plan("b", 1, sent_s, np.array([sent_s]), np.array([[3.0, 0.0, DEPTH_M]]), velocity)
    return PlanForecast([plan], t_s, {"b": point(0.0, 9.0)}, NeighbourSettings())


def step(
    controller: DompcController, yaw_deg: float, own: Preview, common: Preview | None = None, t_s: float = 0.0
) -> ControlOutput:
    directive = Directive("follow", own, frozenset({"b"}), common=common)
    return controller.step(t_s, estimate(t_s, yaw_deg), directive, ahead(t_s))


def test_it_steers_towards_the_setpoint_within_the_limits(baseline: DompcController) -> None:
    output = step(baseline, 0.0, point(0.5, 0.3))
    assert output.usable and output.issues == ()
    assert 0 < output.iterations <= 25
    assert np.abs(output.thrust_N).max() <= 6.2 + 1e-6
    wrench = rov().thrust_matrix @ output.thrust_N
    assert wrench[0] > 1.0
    assert wrench[1] > 1.0
    assert output.states[:, :3] == pytest.approx(np.array([[0, 0, DEPTH_M]]))  # only where it is, no prediction


def test_facing_away_is_where_it_breaks_down(baseline: DompcController) -> None:
    """Truly hard rows at the measured state: no feasible point, 25 iterations for nothing. Ours recovers from there.

    What is left is sent all the same: there is no fallback.
    """
    output = step(baseline, 150.0, point(0.0, 0.0))
    assert [issue.code for issue in output.issues] == [Code.SOLVER_FAILED]
    assert output.usable
    assert np.isfinite(output.thrust_N).all()


def test_all_go_to_the_common_point_or_each_to_its_own(baseline: DompcController) -> None:
    def push_N() -> float:
        return float((rov().thrust_matrix @ step(baseline, 0.0, point(0.0, 0.4), point(0.0, -0.4)).thrust_N)[1])

    assert push_N() < -1.0
    baseline.apply(DompcSettings(common_point=False))
    assert push_N() > 1.0
    baseline.apply(DompcSettings())


def test_it_steers_by_odometry_and_by_where_the_neighbour_was() -> None:
    """Neither the estimate, nor a velocity, nor the neighbour's place in the formation moves anything."""
    directive = Directive("follow", point(0.2, 0.0), frozenset({"b"}))
    thrusts = []
    for estimated_m, velocity_mps in ((0.0, 0.0), (5.0, 0.8)):
        controller = make()  # each begins anew: the last thrust sent counts
        forecast = ahead(2.0, sent_s=0.5, velocity_mps=velocity_mps)
        thrusts.append(controller.step(2.0, estimate(2.0, 0.0, estimated_m), directive, forecast).thrust_N)
    assert thrusts[0] == pytest.approx(thrusts[1], abs=1e-6)


def test_whom_it_must_see_may_change(baseline: DompcController) -> None:
    """Turned away from one that need not be seen, the same state has a solution, and the bow goes where the goal is."""
    directive = Directive("follow", point(-1.0, 0.0))
    output = baseline.step(3.0, estimate(3.0, 150.0), directive, ahead(3.0))
    assert output.issues == ()
    assert (rov().thrust_matrix @ output.thrust_N)[5] > 0.0  # on to 180°, away from the neighbour
