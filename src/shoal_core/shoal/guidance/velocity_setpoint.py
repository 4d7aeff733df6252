"""A setpoint driven by hand: the stick gives its velocity and the formation's yaw rate, this gives where it goes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ShoalError
from shoal.guidance.replan import Motion
from shoal.guidance.splines import MotionLimits
from shoal.messages.preview import Preview

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TurnLimits:
    """Of the formation's yaw."""

    rate_radps: float = 0.2
    acceleration_radps2: float = 0.1


@dataclass(frozen=True)
class _Ramp:
    """A motion from `start_s` on: velocity runs straight to `target` at full acceleration, then stays."""

    start_s: float
    place: Array  # (n,)
    velocity: Array  # (n,)
    target: Array  # (n,)
    acceleration_limit: float

    def at(self, times_s: ArrayLike) -> tuple[Array, Array, Array]:
        """Place, velocity, acceleration, each (..., n)."""
        if not (self.velocity.any() or self.target.any()):  # at rest, as a formation's yaw most of the time
            shape = (*np.shape(times_s), len(self.place))
            return np.broadcast_to(self.place, shape).copy(), np.zeros(shape), np.zeros(shape)
        change = self.target - self.velocity
        length_s = float(np.linalg.norm(change)) / self.acceleration_limit
        slope = change / length_s if length_s > 0 else change
        past_s = (np.asarray(times_s, dtype=float) - self.start_s)[..., None]
        ramp_s = np.clip(past_s, 0.0, length_s)
        velocity = self.velocity + slope * ramp_s
        place = self.place + (self.velocity + slope * ramp_s / 2) * ramp_s + velocity * (past_s - ramp_s)
        return place, velocity, np.where((past_s >= 0) & (past_s < length_s), slope, 0.0)

    def toward(self, t_s: float, target: Array) -> _Ramp:
        """Another target from `t_s` on."""
        place, velocity, _ = self.at(t_s)
        return replace(self, start_s=t_s, place=place, velocity=velocity, target=target)


class VelocitySetpoint:
    """Brakes to a stop when released, or when no command has come for `timeout_s` (a pulled plug counts as release)."""

    def __init__(
        self,
        t_s: float,
        motion: Motion,
        limits: MotionLimits,
        yaw_rad: float = 0.0,
        turn: TurnLimits | None = None,
        timeout_s: float = 0.5,
    ) -> None:
        self.limits, self.turn, self.timeout_s = limits, turn or TurnLimits(), timeout_s
        self._move = _Ramp(t_s, motion.position_m, motion.velocity_mps, np.zeros(3), limits.acceleration_mps2)
        self._yaw = _Ramp(t_s, np.array([yaw_rad]), np.zeros(1), np.zeros(1), self.turn.acceleration_radps2)
        self._deadline_s = np.inf

    def command(self, t_s: float, velocity_mps: ArrayLike, yaw_rate_radps: float = 0.0) -> None:
        """What the stick wants from now on (NED); more than the limits allow is cut, direction kept."""
        wanted = np.append(np.asarray(velocity_mps, dtype=float), yaw_rate_radps)
        if wanted.shape != (4,) or not np.all(np.isfinite(wanted)):
            raise ShoalError(
                f"joystick: command {wanted.tolist()}; expected three velocities and a yaw rate, all finite"
            )
        move, yaw = self._at(t_s)
        self._move = move.toward(t_s, _cut(wanted[:3], self.limits.speed_mps))
        self._yaw = yaw.toward(t_s, _cut(wanted[3:], self.turn.rate_radps))
        self._deadline_s = t_s + self.timeout_s

    def release(self, t_s: float) -> None:
        """The dead-man button is up."""
        self.command(t_s, np.zeros(3))

    def motion(self, t_s: float) -> Motion:
        """Of the common point, for whoever takes over."""
        return Motion(*self._at(t_s)[0].at(t_s))

    def yaw_rad(self, t_s: float) -> float:
        """Of the formation."""
        return float(self._at(t_s)[1].at(t_s)[0][0])

    def preview(self, t_s: float, horizon_times_s: ArrayLike) -> Preview:
        """As if the stick stayed where it is; the heading is the formation's yaw."""
        times_s = t_s + np.atleast_1d(np.asarray(horizon_times_s, dtype=float))
        position, velocity, _ = self._at(t_s)[0].at(times_s)
        return Preview(times_s, position, velocity, self.headings_rad(t_s, times_s))

    def headings_rad(self, t_s: float, times_s: Array) -> Array:
        """The formation's yaw (K,) at absolute times (K,), as if the stick stayed where it is at `t_s`."""
        return self._at(t_s)[1].at(times_s)[0][:, 0]

    def _at(self, t_s: float) -> tuple[_Ramp, _Ramp]:
        """The ramps in force at `t_s`: those of the last command, or braking since the deadline."""
        if t_s < self._deadline_s:
            return self._move, self._yaw
        return self._move.toward(self._deadline_s, np.zeros(3)), self._yaw.toward(self._deadline_s, np.zeros(1))


def _cut(vector: Array, longest: float) -> Array:
    length = float(np.linalg.norm(vector))
    return vector if length <= longest else vector * (longest / length)
