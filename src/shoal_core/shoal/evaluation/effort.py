"""What the thrusters had to do, of the vehicle whose thrusters had to do most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.evaluation.arrays import rms
from shoal.evaluation.metric import Bound, Metric, Value
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]

GROUP = "Effort and attitude"
AT_BOUND = 1e-3  # of the range between least and most thrust: nearer to either is saturated
SATURATED_SHARE = 0.2  # waves of 0.5 m/s cost 3 %; a vehicle that rattles between its limits, half of all commands
ACTIVITY_SHARE = 0.3  # of a thruster's range, from one period to the next; a limit cycle over the range has 0.4


def _thrust_N(recording: Recording) -> Array:
    """(T,N) of all thrusters of all vehicles."""
    return np.concatenate([recording.thrust_N[name] for name in recording.names], axis=1)


def _worst_vehicle(recording: Recording, measure: Callable[[str], float | None]) -> Value | None:
    """The largest, with the vehicle; one that rattles must not hide among those that do not."""
    known = {name: number for name in recording.names if (number := measure(name)) is not None}
    if not known:
        return None
    vehicle = max(known, key=lambda name: known[name])
    return Value(known[vehicle], subject=vehicle)


def _saturated(recording: Recording) -> Value | None:
    def share(name: str) -> float | None:
        if name not in recording.thrust_bounds_N:
            return None
        thrust, (least, most) = recording.thrust_N[name], recording.thrust_bounds_N[name]
        known, margin = np.isfinite(thrust), AT_BOUND * (most - least)
        if not known.any():
            return None
        at_bound = (thrust <= least + margin) | (thrust >= most - margin)
        return float(np.count_nonzero(at_bound & known) / np.count_nonzero(known))

    return _worst_vehicle(recording, share)


def _activity(recording: Recording) -> Value | None:
    if len(recording.times_s) < 2:
        return None
    ranges = _ranges_N(recording)

    def share(name: str) -> float | None:
        activity = rms(np.diff(recording.thrust_N[name], axis=0))
        return None if activity is None else activity / ranges.get(name, max(ranges.values(), default=1.0))

    worst = _worst_vehicle(recording, share)
    if worst is None:
        return None
    return Value(rms(np.diff(recording.thrust_N[worst.subject], axis=0)) or 0.0, subject=worst.subject)


def _ranges_N(recording: Recording) -> dict[str, float]:
    """Between least and most thrust of each vehicle's weakest thruster, where they are known."""
    bounds = recording.thrust_bounds_N.items()
    return {name: float(np.min(most - least)) for name, (least, most) in bounds if len(most)}


def _activity_limit(recording: Recording) -> float | None:
    """Of that vehicle's own range: a fleet may have thrusters of 0.2 and of 50 N."""
    busiest = _activity(recording)
    limit_N = None if busiest is None else _ranges_N(recording).get(busiest.subject)
    return None if limit_N is None else ACTIVITY_SHARE * limit_N


METRICS = (
    Metric("thrust_rms_N", "N", lambda r: rms(_thrust_N(r)), label="thrust RMS", group=GROUP, form=".2f",
           description="Commanded, per thruster."),
    Metric("thrust_saturated_share", "", _saturated, Bound(SATURATED_SHARE, "had saturated thrusters"),
           label="thrust at its limit", group=GROUP, form=".2%",
           description="Share of a vehicle's thruster commands at the least or most they can give; of the vehicle "
           "with the largest."),
    Metric("thrust_activity_N", "N", _activity, Bound(_activity_limit, "rattled"),
           label="thrust change per period", group=GROUP, form=".3f",
           description="RMS change of a thruster's command from one recorded instant to the next; of the vehicle with "
           "the largest share of its own range."),
)  # fmt: skip
