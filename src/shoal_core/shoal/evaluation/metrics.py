"""From a record to its verdict. A bound broken at any recorded instant is a failure; so is a state that is NaN."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.evaluation.summary import SolveTimes, Summary
from shoal.evaluation.time_shift import lag_s, peak_lag_s
from shoal.messages.geometry import Pairs, all_pairs, distances_m, fov_angles_deg
from shoal.recordings.recording import RunRecord

Array = NDArray[np.float64]

SETTLE_S = 10.0  # starts are up to 2 m off; path error and time shift are read after this
PATH_BOUND_M = 2.0  # farther than this from the setpoint after settling is not following: the thesis's "ready" distance


@dataclass(frozen=True)
class _Extreme:
    value: float | None = None
    at_s: float | None = None
    pair: str | None = None


def summarise(record: RunRecord) -> Summary:
    """Judge a run."""
    fov = fov_angles_deg(record.states, record.must_see)
    distance = distances_m(record.states)
    worst_fov = _extreme(record, fov, record.must_see, " -> ", np.nanargmax)
    nearest = _extreme(record, distance, all_pairs(len(record.names)), " - ", np.nanargmin)
    error = np.linalg.norm(record.centroid_m - record.reference_m, axis=1)
    late = record.times_s >= record.times_s[0] + min(SETTLE_S, 0.5 * record.duration_s)
    broken = not bool(np.all(np.isfinite(record.states)))
    lags = [lag_s(record.times_s[late], record.reference_m[late, i], record.centroid_m[late, i]) for i in range(3)]
    peaks = [
        peak_lag_s(record.times_s[late], record.reference_m[late, i], record.centroid_m[late, i]) for i in range(3)
    ]
    fov_failed = worst_fov.value is not None and worst_fov.value > record.limits.fov_hard_deg
    distance_failed = nearest.value is not None and nearest.value < record.limits.distance_hard_m
    path_error = _max(error[late])
    path_failed = path_error is not None and path_error > PATH_BOUND_M
    wall_s = _number(record.meta.get("wall_s"))
    goal, goal_s = str(record.meta.get("goal", "")), record.meta.get("goal_s")
    goal_missed = bool(goal) and goal_s is None
    return Summary(
        **_identity(record),
        vehicles=len(record.names),
        duration_s=record.duration_s,
        # A run with a goal may start with its sight lost: then finding back is the test.
        failed=(fov_failed and not goal) or distance_failed or path_failed or broken or goal_missed,
        failure=_in_words(record, worst_fov, nearest, path_error, broken)
        + (f"; not reached: {goal}" if goal_missed else ""),
        goal=goal,
        goal_s=goal_s,
        goal_missed=goal_missed,
        fov_failed=fov_failed or (broken and bool(record.must_see)),
        distance_failed=distance_failed or (broken and len(record.names) > 1),
        path_failed=path_failed or broken,
        broken=broken,
        fov_max_deg=worst_fov.value,
        fov_max_at_s=worst_fov.at_s,
        fov_max_pair=worst_fov.pair,
        fov_soft_share=float(np.mean(np.any(fov > record.limits.fov_soft_deg, axis=1))) if fov.size else None,
        distance_min_m=nearest.value,
        distance_min_at_s=nearest.at_s,
        distance_min_pair=nearest.pair,
        distance_max_m=_max(distance),
        time_shift_s=(lags[0].seconds, lags[1].seconds, lags[2].seconds),
        time_shift_measured=(lags[0].measured, lags[1].measured, lags[2].measured),
        time_shift_peak_s=(peaks[0], peaks[1], peaks[2]),
        rmse_whole_m=_rms(error),
        rmse_m=_rms(error[late]),
        path_error_max_m=path_error,
        settle_s=SETTLE_S,
        fallbacks=int(np.count_nonzero(record.mode)),
        fallback_share=float(np.mean(record.mode != 0)),
        warnings={str(k): float(v) for k, v in dict(record.meta.get("warnings", {})).items()},
        slack_max=_max(record.slack_max),
        neighbour_age_max_s=_max(record.neighbour_age_s),
        thrust_rms_N=_rms(record.thrust_N),
        solve_ms=_solve_times(record.solve_ms),
        wall_s=wall_s,
        real_time_factor=record.duration_s / wall_s if wall_s else None,
    )


def _identity(record: RunRecord) -> dict[str, Any]:
    meta = record.meta
    return {
        "path": str(meta.get("path", "")),
        "fleet": str(meta.get("fleet", len(record.names))),
        "condition": str(meta.get("condition", "")),
        "controller": str(meta.get("controller", "")),
        "seed": int(meta.get("seed", 0)),
        "code_version": str(meta.get("code_version", "")),
    }


def _extreme(record: RunRecord, values: Array, pairs: Pairs, arrow: str, arg: Callable[[Array], Any]) -> _Extreme:
    """The worst value with its instant and pair; values (T,P)."""
    if not values.size or np.all(np.isnan(values)):
        return _Extreme()
    instant, column = np.unravel_index(int(arg(values)), values.shape)
    pair = arrow.join(record.names[i] for i in pairs[column])
    return _Extreme(float(values[instant, column]), float(record.times_s[instant]), pair)


def _in_words(record: RunRecord, fov: _Extreme, near: _Extreme, path_error: float | None, broken: bool) -> str:
    limits, said = record.limits, []
    if broken:
        said.append("a state is not a number")
    if fov.value is not None and fov.value > limits.fov_hard_deg:
        said.append(f"FOV {fov.value:.1f} deg > {limits.fov_hard_deg:g} deg at {fov.at_s:.1f} s ({fov.pair})")
    if near.value is not None and near.value < limits.distance_hard_m:
        said.append(f"distance {near.value:.2f} m < {limits.distance_hard_m:g} m at {near.at_s:.1f} s ({near.pair})")
    if path_error is not None and path_error > PATH_BOUND_M:
        said.append(f"centroid {path_error:.2f} m from the setpoint > {PATH_BOUND_M:g} m")
    return "; ".join(said)


def _solve_times(solve_ms: Array) -> SolveTimes:
    known = solve_ms[np.isfinite(solve_ms)]
    if not known.size:
        return SolveTimes(median=None, p99=None, max=None)
    median, p99, largest = np.percentile(known, [50, 99, 100])
    return SolveTimes(median=float(median), p99=float(p99), max=float(largest))


def _max(values: Array) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else None


def _rms(values: Array) -> float | None:
    with warnings.catch_warnings(), np.errstate(invalid="ignore", over="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        result = float(np.sqrt(np.nanmean(np.square(values))))
    return result if np.isfinite(result) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None
