"""The hand-driven setpoint: limits, dead man, and a path that fits its velocities."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.guidance.replan import Motion
from shoal.guidance.splines import MotionLimits
from shoal.guidance.velocity_setpoint import TurnLimits, VelocitySetpoint


def setpoint(timeout_s: float = 0.5) -> VelocitySetpoint:
    rest = Motion(np.array([0, 0, 5.0]), np.zeros(3), np.zeros(3))
    return VelocitySetpoint(0.0, rest, MotionLimits(0.5, 0.2), 0.0, TurnLimits(0.3, 0.1), timeout_s)


def drive(s: VelocitySetpoint, seed: int, period_s: float = 0.05, count: int = 600) -> Motion:
    """A wild stick; the motion at every command, stacked."""
    rng, motions = np.random.default_rng(seed), []
    for i in range(count):
        if i % 80 == 0:
            wish, turn = rng.uniform(-1, 1, 3), float(rng.uniform(-1, 1))
        s.command(i * period_s, wish, turn)
        motions.append(s.motion(i * period_s))
    rows = zip(*((m.position_m, m.velocity_mps, m.acceleration_mps2) for m in motions), strict=True)
    return Motion(*(np.array(row) for row in rows))


@pytest.mark.parametrize("seed", range(3))
def test_limits_hold_and_position_follows_velocity(seed: int) -> None:
    track = drive(setpoint(), seed)
    speeds = np.linalg.norm(track.velocity_mps, axis=1)
    assert np.max(speeds) <= 0.5 + 1e-12 and np.max(speeds) > 0.45
    assert np.max(np.linalg.norm(np.diff(track.velocity_mps, axis=0), axis=1)) <= 0.2 * 0.05 + 1e-12
    middle = (track.velocity_mps[1:] + track.velocity_mps[:-1]) / 2
    assert np.allclose(np.diff(track.position_m, axis=0), middle * 0.05, atol=2e-4)


def test_release_brakes_at_the_limit_to_a_stop() -> None:
    s = setpoint()
    for i in range(100):
        s.command(i * 0.1, [0.4, 0, 0])
    at = s.motion(9.9)
    s.release(9.9)
    assert np.allclose(s.motion(9.9 + 1.0).velocity_mps, [0.2, 0, 0])
    assert not np.any(s.motion(9.9 + 2.0).velocity_mps)
    assert s.motion(60.0).position_m[0] - at.position_m[0] == pytest.approx(0.4**2 / (2 * 0.2))


def test_silence_is_release() -> None:
    s = setpoint()
    s.command(0.0, [0.1, 0, 0], 0.05)
    assert np.allclose(s.motion(0.5).velocity_mps, [0.1, 0, 0])  # reached just as the deadline passes
    assert np.allclose(s.motion(0.75).velocity_mps, [0.05, 0, 0])
    assert not np.any(s.motion(3.0).velocity_mps)
    assert s.yaw_rad(50.0) == s.yaw_rad(3.0) > 0


def test_preview_goes_on_from_now_and_fits_itself() -> None:
    s = setpoint()
    s.command(0.0, [0.3, -0.1, 0], 0.2)
    ahead = s.preview(0.2, np.linspace(0, 4, 401))
    assert np.allclose(ahead.positions_m[0], s.motion(0.2).position_m)
    assert np.allclose(np.gradient(ahead.positions_m, 0.01, axis=0)[1:-1], ahead.velocities_mps[1:-1], atol=1e-3)
    assert np.allclose(ahead.velocities_mps[-1], [0.3, -0.1, 0])
    assert ahead.headings_rad is not None
    assert np.diff(ahead.headings_rad)[-1] / 0.01 == pytest.approx(0.2)


def test_yaw_rate_is_limited() -> None:
    s = setpoint(timeout_s=100.0)
    s.command(0.0, [0, 0, 0], -5.0)
    assert s.yaw_rad(1.0) == pytest.approx(-0.5 * 0.1)
    assert s.yaw_rad(11.0) - s.yaw_rad(10.0) == pytest.approx(-0.3)


@pytest.mark.parametrize("velocity", [[0, 0], [0, 0, np.nan], [np.inf, 0, 0]])
def test_broken_stick_is_told(velocity: list[float]) -> None:
    s = setpoint()
    s.command(0.0, [0.3, 0, 0])
    with pytest.raises(ShoalError, match="joystick"):
        s.command(0.1, velocity)
    assert not np.any(s.motion(10.0).velocity_mps)  # and the dead man still works
