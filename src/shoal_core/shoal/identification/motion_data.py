"""What a fit needs of a recording: measured motion and commanded thrust of one vehicle, on even time steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.frames import tilt_rad
from shoal.messages.state import ATTITUDE
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]
TUMBLING_RAD = np.radians(75)


@dataclass(frozen=True)
class SensorNoise:
    """One sigma of each measurement."""

    position_m: float = 0.02
    attitude_rad: float = float(np.radians(0.5))
    velocity_mps: float = 0.01
    rate_radps: float = float(np.radians(0.5))

    @property
    def weights(self) -> Array:
        """(12,) one over sigma."""
        return 1 / np.repeat([self.position_m, self.attitude_rad, self.velocity_mps, self.rate_radps], 3)


@dataclass(frozen=True)
class MotionData:
    """T even steps of one vehicle. World NED, body FRD."""

    source: str
    step_s: float
    states: Array  # (T,13) measured
    thrust_N: Array  # (T,n) commanded, from each instant on
    noise: SensorNoise = SensorNoise()

    def __post_init__(self) -> None:
        if len(self.states) != len(self.thrust_N) or self.states.shape[1:] != (13,):
            raise ShoalError(
                f"{self.source}: {self.states.shape} states with {self.thrust_N.shape} thrusts; "
                "expected as many of one as of the other"
            )

    @property
    def duration_s(self) -> float:
        """Covered."""
        return (len(self.states) - 1) * self.step_s

    def check(self) -> None:
        """A ShoalError where no fit can be trusted."""
        if not (np.isfinite(self.states).all() and np.isfinite(self.thrust_N).all()):
            raise ShoalError(f"{self.source}: holds numbers that are not finite; expected complete motion data")
        tilt = max(tilt_rad(q) for q in self.states[:, ATTITUDE])
        if tilt > TUMBLING_RAD:
            raise ShoalError(
                f"{self.source}: the vehicle tilts by {np.degrees(tilt):.0f}°; expected at most "
                f"{np.degrees(TUMBLING_RAD):.0f}° (hold roll and pitch while it moves)"
            )

    def part(self, from_s: float, to_s: float) -> MotionData:
        """A stretch of it."""
        first, last = round(from_s / self.step_s), round(to_s / self.step_s) + 1
        return replace(self, states=self.states[first:last], thrust_N=self.thrust_N[first:last])


def from_recording(recording: Recording, vehicle: str, source: str = "recording") -> MotionData:
    """One vehicle of a recording, as it measured itself."""
    if vehicle not in recording.names:
        raise ShoalError(f"{source}: vehicle '{vehicle}' is unknown; expected one of {', '.join(recording.names)}")
    steps = np.diff(recording.times_s)
    step_s = float(np.median(steps))
    if np.abs(steps - step_s).max() > 0.2 * step_s:
        raise ShoalError(
            f"{source}: time steps of {steps.min():.3g} to {steps.max():.3g} s; expected even ones (resample it first)"
        )
    i = recording.names.index(vehicle)
    measured = recording.odometry[:, i]
    if not np.isfinite(measured).any():  # only a truth was recorded, as by motion capture
        measured = recording.states[:, i]
    return MotionData(source, step_s, measured, np.asarray(recording.thrust_N[vehicle]))


def without_gaps(data: MotionData, gaps_s: Sequence[tuple[float, float]], shortest_s: float = 2.0) -> list[MotionData]:
    """The pieces between gaps (from, to), in seconds from the start; what was interpolated there was not measured."""
    times_s = np.arange(len(data.states)) * data.step_s
    kept = np.ones(len(times_s), dtype=bool)
    for start_s, end_s in gaps_s:
        kept &= ~((times_s > start_s + 1e-9) & (times_s < end_s - 1e-9))
    runs = np.split(np.flatnonzero(kept), np.flatnonzero(np.diff(np.flatnonzero(kept)) > 1) + 1)
    whole = [r for r in runs if (len(r) - 1) * data.step_s >= shortest_s]
    return [replace(data, states=data.states[r], thrust_N=data.thrust_N[r]) for r in whole]
