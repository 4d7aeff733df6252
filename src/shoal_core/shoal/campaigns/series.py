"""The decimated time series kept of every run of a campaign: enough for percentile bands and 3-D pictures.

Positions are sampled; the FOV angle is the largest and the distance the smallest of each step, so that a short
excursion is not lost between samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.messages.geometry import fov_angles_deg
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]

_REAL = pa.float32()
SERIES_SCHEMA = pa.schema([
    ("key", pa.string()), ("t_s", _REAL), ("x_m", _REAL), ("y_m", _REAL), ("z_m", _REAL),
    ("reference_x_m", _REAL), ("reference_y_m", _REAL), ("reference_z_m", _REAL),
    ("fov_max_deg", _REAL), ("distance_min_m", _REAL), ("vehicles_m", pa.list_(_REAL)),
])  # fmt: skip


def series_table(key: str, recording: Recording, step_s: float) -> Any:
    """One row per `step_s`."""
    starts = _bin_starts(recording.times_s, step_s)
    fov, distance = fov_angles_deg(recording.states, recording.must_see), recording.distances_m
    centre, reference = recording.centroid_m[starts], recording.reference_m[starts]
    columns: dict[str, Any] = {
        "key": [key] * len(starts),
        "t_s": recording.times_s[starts],
        **{f"{axis}_m": centre[:, i] for i, axis in enumerate("xyz")},
        **{f"reference_{axis}_m": reference[:, i] for i, axis in enumerate("xyz")},
        "fov_max_deg": _pooled(np.maximum, fov, starts),
        "distance_min_m": _pooled(np.minimum, distance, starts),
        "vehicles_m": list(recording.states[starts, :, POSITION].reshape(len(starts), -1).astype(np.float32)),
    }
    return pa.table({n: pa.array(columns[n], type=SERIES_SCHEMA.field(n).type) for n in SERIES_SCHEMA.names})


def _bin_starts(times_s: Array, step_s: float) -> NDArray[np.int64]:
    bins = np.floor((times_s - times_s[0]) / step_s + 1e-9)
    return np.flatnonzero(np.diff(bins, prepend=-1.0) > 0)


def _pooled(worst: np.ufunc, values: Array, starts: NDArray[np.int64]) -> Array:
    """(T,P) → the worst of all pairs in each bin; not-a-number where there is no pair."""
    if not values.shape[1]:
        return np.full(len(starts), np.nan)
    return np.asarray(worst.reduceat(worst.reduce(values, axis=1), starts), dtype=float)
