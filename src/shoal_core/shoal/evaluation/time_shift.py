"""How long a response comes after its reference, on one axis.

Two definitions. `lag_s` fits the whole signal and resolves hundredths of a second; verdicts use it. `peak_lag_s` is
that of Fosso 2023: time from a peak of the reference to the matching peak of the response. Around a peak a slow signal
hardly moves, so a few centimetres of noise shift a found peak by seconds; it is kept for comparison only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy
from numpy.typing import NDArray

from shoal.evaluation.arrays import SETTLE_S, settled
from shoal.evaluation.metric import Metric, Value
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]

STILL_STD_M = 0.05  # a reference that moves less than this has no time shift to speak of
EXPLAINED = 0.5  # the best lag must leave less than this share of the reference's variance
COARSE_POINTS = 400  # of the first search; the refinement uses every sample
TIE = 0.02  # lags whose misfit is this close (share of variance) are equal; the shortest wins (periodic references)


@dataclass(frozen=True)
class Lag:
    """`seconds` is 0 when the reference stands still, None when no lag explains the response."""

    seconds: float | None
    measured: bool


def lag_s(times_s: Array, reference: Array, response: Array) -> Lag:
    """Best lag of `response` behind `reference` (negative: ahead): least squares over the lag, mean offset left out.

    Searched from -10 % to +25 % of the duration; each lag is tried where the shifted reference is known.
    """
    if not (np.all(np.isfinite(response)) and np.all(np.isfinite(reference))):
        return Lag(None, False)
    if len(times_s) < 8 or float(np.std(reference)) < STILL_STD_M:
        return Lag(0.0, False)
    duration = float(times_s[-1] - times_s[0])
    step = duration / COARSE_POINTS
    lags = np.asarray(step * np.arange(-int(0.1 * COARSE_POINTS), int(0.25 * COARSE_POINTS) + 1), dtype=float)
    spline = scipy.interpolate.CubicSpline(times_s, reference)
    thin = slice(None, None, max(1, len(times_s) // COARSE_POINTS))
    cost = np.array([_misfit(lag, times_s[thin], spline, response[thin]) for lag in lags]) / float(np.var(reference))
    best = _shortest_of_the_best(lags, cost)
    if cost[best] > EXPLAINED:
        return Lag(None, False)
    fine = scipy.optimize.minimize_scalar(
        _misfit, args=(times_s, spline, response), bounds=(lags[best] - step, lags[best] + step), method="bounded",
        options={"xatol": step * 1e-3},
    )  # fmt: skip
    return Lag(float(fine.x), True)


def _misfit(lag: float, times_s: Array, spline: scipy.interpolate.CubicSpline, response: Array) -> float:
    shifted = times_s - lag
    known = (shifted >= times_s[0]) & (shifted <= times_s[-1])
    return float(np.var(response[known] - spline(shifted[known])))


def _shortest_of_the_best(lags: Array, cost: Array) -> int:
    padded = np.concatenate([[np.inf], cost, [np.inf]])
    valley = (cost <= padded[:-2]) & (cost <= padded[2:]) & (cost <= cost.min() + TIE)
    candidates = np.flatnonzero(valley)
    return int(candidates[np.argmin(np.abs(lags[candidates]))])


def peak_lag_s(times_s: Array, reference: Array, response: Array) -> float | None:
    """Median time from each clear inner peak or trough of the reference to the nearest like one of the response."""
    reach = float(np.ptp(reference))
    if len(times_s) < 8 or reach < STILL_STD_M or not np.all(np.isfinite(response)):
        return None
    step = float(np.median(np.diff(times_s)))
    smooth = _smoothed(response, max(1, round(2.0 / step)))
    lags: list[float] = []
    for sign in (1.0, -1.0):
        wanted, _ = scipy.signal.find_peaks(sign * reference, prominence=0.2 * reach)
        found, _ = scipy.signal.find_peaks(sign * smooth, prominence=0.2 * reach)
        if len(found):
            lags += [float(_nearest(times_s[found], t) - t) for t in times_s[wanted]]
    return float(np.median(lags)) if lags else None


def _nearest(values: Array, wanted: float) -> float:
    return float(values[np.argmin(np.abs(values - wanted))])


def _smoothed(signal: Array, width: int) -> Array:
    padded = np.pad(signal, (width // 2, width - 1 - width // 2), mode="edge")
    return np.asarray(np.convolve(padded, np.full(width, 1.0 / width), mode="valid"))


def _axis_shift(axis: int, recording: Recording) -> Value | None:
    """None on an axis on which the reference stands still; not-a-number when no lag explains the run."""
    after = settled(recording)
    lag = lag_s(recording.times_s[after], recording.reference_m[after, axis], recording.centroid_m[after, axis])
    if lag.seconds is None:
        return Value(math.nan)
    return Value(lag.seconds) if lag.measured else None


def _axis_peak_shift(axis: int, recording: Recording) -> float | None:
    after = settled(recording)
    return peak_lag_s(recording.times_s[after], recording.reference_m[after, axis], recording.centroid_m[after, axis])


METRICS = (
    *(
        Metric(f"time_shift_{name}_s", "s", partial(_axis_shift, i), worst="abs", label="time shift",
               part=name, group="", form="+.2f", description="Lag of the formation's centroid behind the setpoint that "
               f"explains the response best (least squares), after {SETTLE_S:g} s of settling.")
        for i, name in enumerate("xyz")
    ),
    *(
        Metric(f"time_shift_peak_{name}_s", "s", partial(_axis_peak_shift, i), worst="abs",
               label="time shift, peak to peak", part=name, group="", form="+.2f", shown=False,
               description="As Fosso 2023 defines it: peak of the reference to peak of the response.")
        for i, name in enumerate("xyz")
    ),
)  # fmt: skip
