"""Percentile bands over the runs of a cell, and the tracks of two of them: the data behind the report's pictures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.campaigns.worst import worst_first
from shoal.evaluation.metric import MetricInfo
from shoal.evaluation.time_shift import peak_lag_s

Array = NDArray[np.float64]

SIGNALS = {"x": "x_m", "y": "y_m", "z": "z_m", "fov": "fov_max_deg", "distance": "distance_min_m"}
CURVES = {"min": 0, "p10": 10, "p50": 50, "p90": 90, "max": 100}
MAX_POINTS = 120

Series = Mapping[str, Any]  # key → pandas frame of `series.SERIES_SCHEMA`


def cell_picture(
    rows: Sequence[dict[str, Any]], series: Series, metrics: Sequence[MetricInfo]
) -> dict[str, Any] | None:
    """JSON-able bands and tracks of one cell; None when no run left a series."""
    runs = [row for row in rows if row["key"] in series]
    if not runs:
        return None
    longest = max((series[row["key"]] for row in runs), key=len)
    keep = np.unique(np.linspace(0, len(longest) - 1, min(MAX_POINTS, len(longest))).round().astype(int))
    stacked = {name: _stack([series[row["key"]] for row in runs], column, len(longest), name)
               for name, column in SIGNALS.items()}  # fmt: skip
    worst = worst_first(runs, metrics)[0]
    return {
        "t": _short(longest["t_s"].to_numpy()[keep], 1),
        "runs": len(runs),
        "reference": {a: _short(longest[f"reference_{a}_m"].to_numpy()[keep], 3) for a in "xyz"},
        "bounds": {name: worst.get(f"{column}_bound") for name, column in SIGNALS.items()},
        "bands": {name: _curves(values, keep, name) for name, values in stacked.items()},
        "tracks": {
            "first": _track(runs[0], series, keep),
            "worst": _track(worst, series, keep),
        },
    }


def median_peak_shifts(rows: Sequence[dict[str, Any]], series: Series) -> tuple[float | None, ...]:
    """The time shift of Fosso 2023, per axis: peak of the reference to peak of the cell's median response."""
    frames = [series[row["key"]] for row in rows if row["key"] in series]
    if not frames:
        return (None, None, None)
    longest = max(frames, key=len)
    times = longest["t_s"].to_numpy().astype(float)
    return tuple(
        peak_lag_s(times, longest[f"reference_{a}_m"].to_numpy().astype(float),
                   np.nanmedian(_stack(frames, f"{a}_m", len(longest), a), axis=0))
        for a in "xyz"
    )  # fmt: skip


def _stack(frames: Sequence[Any], column: str, length: int, name: str) -> Array:
    """(runs, length); a run that ended early has no value after its end."""
    values = np.full((len(frames), length), np.nan)
    for i, frame in enumerate(frames):
        values[i, : len(frame)] = frame[column].to_numpy()
    return values


def _curves(values: Array, keep: NDArray[np.int_], name: str) -> dict[str, list[float | None]]:
    """Percentiles at the kept instants; extremes are taken over all instants up to the next kept one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        percentile = np.nanpercentile if np.any(np.isnan(values)) else np.percentile  # the first is far slower
        curves = np.asarray(percentile(values, list(CURVES.values()), axis=0))
        low, high = np.fmin.reduceat(curves[0], keep), np.fmax.reduceat(curves[-1], keep)
    picked = curves[:, keep]
    picked[0], picked[-1] = low, high
    return {curve: _short(picked[i], 1 if name == "fov" else 3) for i, curve in enumerate(CURVES)}


def _track(row: dict[str, Any], series: Series, keep: NDArray[np.int_]) -> dict[str, Any]:
    frame = series[row["key"]]
    inside = keep[keep < len(frame)]
    places = np.stack(frame["vehicles_m"].to_numpy()[inside]).reshape(len(inside), -1, 3)
    vehicles = [[_short(places[:, v, i], 2) for i in range(3)] for v in range(places.shape[1])]
    return {"seed": int(row["seed"]), "key": row["key"], "failure": row["failure"], "vehicles": vehicles}


def _short(values: Array, digits: int) -> list[float | None]:
    return [round(float(v), digits) if np.isfinite(v) else None for v in values]
