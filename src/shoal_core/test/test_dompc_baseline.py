"""The thesis's controller, kept for comparison: it steers, and it breaks down where the thesis says it does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.messages.health import Mode
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from solver_problems import rov

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def baseline() -> object:
    from shoal.baselines.dompc import DompcBaseline

    return DompcBaseline("a", rov(), ["b"], frozenset({"b"}))


def odometry(yaw_deg: float) -> Odometry:
    half = np.deg2rad(yaw_deg) / 2
    return Odometry.of_parts(
        0.0, np.array([0, 0, 5.0]), np.array([np.cos(half), 0, 0, np.sin(half)]), np.zeros(3), np.zeros(3)
    )


def still(position: list[float]) -> tuple[dict[str, Plan], Preview]:
    """A neighbour 3 m ahead, a setpoint that stands still."""
    plan = Plan("b", 1, 0.0, np.zeros(1), np.array([[3.0, 0.0, 5.0]]), np.zeros((1, 3)))
    return {"b": plan}, Preview(np.array([0.0, 10.0]), np.array([position, position]), np.zeros((2, 3)))


def test_it_steers_towards_the_setpoint_within_the_limits(baseline) -> None:  # type: ignore[no-untyped-def]
    plans, setpoint = still([0.5, 0.3, 5.0])
    command = baseline.step(0.0, odometry(0.0), plans, setpoint)
    assert command.health.mode is Mode.NMPC
    assert command.health.reason == ""
    assert 0 < command.health.iterations <= 25
    assert np.abs(command.thrust_N).max() <= 6.2 + 1e-6
    wrench = rov().thrust_matrix @ command.thrust_N
    assert wrench[0] > 1.0
    assert wrench[1] > 1.0
    assert command.plan.positions_m[0] == pytest.approx([0, 0, 5.0])  # only where it is, no prediction


def test_facing_away_is_where_it_breaks_down(baseline) -> None:  # type: ignore[no-untyped-def]
    """Truly hard rows at the measured state: no feasible point, 25 iterations for nothing. Ours recovers from there."""
    plans, setpoint = still([0.0, 0.0, 5.0])
    command = baseline.step(0.1, odometry(150.0), plans, setpoint)
    assert command.health.reason.startswith("solver: ")
    assert np.isfinite(command.thrust_N).all()


def test_without_odometry_it_does_nothing(baseline) -> None:  # type: ignore[no-untyped-def]
    plans, setpoint = still([0.0, 0.0, 5.0])
    command = baseline.step(0.2, None, plans, setpoint)
    assert command.health.mode is Mode.ZERO_THRUST
    assert not command.thrust_N.any()
