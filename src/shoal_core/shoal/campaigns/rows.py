"""One run as one row: the columns of a campaign's data set.

Columns that depend on the machine or the hour (solve times, wall time) are kept apart, so that a campaign that was
killed and resumed equals an undisturbed one, value by value.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from shoal.campaigns.job import Job
from shoal.evaluation.summary import Summary

_TEXT, _FLAG, _WHOLE, _REAL = pa.string(), pa.bool_(), pa.int64(), pa.float64()

DATA_SCHEMA = pa.schema([
    ("key", _TEXT), ("path", _TEXT), ("condition", _TEXT), ("fleet", _TEXT), ("controller", _TEXT), ("seed", _WHOLE),
    ("condition_hash", _TEXT), ("code_version", _TEXT), ("vehicles", _WHOLE), ("duration_s", _REAL),
    ("crashed", _FLAG), ("failed", _FLAG), ("failure", _TEXT),
    ("fov_failed", _FLAG), ("distance_failed", _FLAG), ("path_failed", _FLAG), ("broken", _FLAG),
    ("goal", _TEXT), ("goal_s", _REAL), ("goal_missed", _FLAG),
    ("fov_max_deg", _REAL), ("fov_max_at_s", _REAL), ("fov_max_pair", _TEXT), ("fov_soft_share", _REAL),
    ("distance_min_m", _REAL), ("distance_min_at_s", _REAL), ("distance_min_pair", _TEXT), ("distance_max_m", _REAL),
    *[(f"time_shift_{axis}_s", _REAL) for axis in "xyz"],
    *[(f"time_shift_{axis}_measured", _FLAG) for axis in "xyz"],
    *[(f"time_shift_peak_{axis}_s", _REAL) for axis in "xyz"],
    ("rmse_whole_m", _REAL), ("rmse_m", _REAL), ("path_error_max_m", _REAL), ("settle_s", _REAL),
    ("fallbacks", _WHOLE), ("fallback_share", _REAL), ("warnings", _TEXT), ("slack_max", _REAL),
    ("neighbour_age_max_s", _REAL), ("thrust_rms_N", _REAL),
])  # fmt: skip
TIMING_SCHEMA = pa.schema([
    ("key", _TEXT), ("solve_ms_median", _REAL), ("solve_ms_p99", _REAL), ("solve_ms_max", _REAL), ("wall_s", _REAL),
    ("real_time_factor", _REAL), ("finished_utc", _TEXT), ("machine", _TEXT),
])  # fmt: skip
ROW_SCHEMA = pa.schema([*DATA_SCHEMA, *[f for f in TIMING_SCHEMA if f.name != "key"]])
SORT_KEYS = [(name, "ascending") for name in ("path", "condition", "fleet", "controller", "seed", "key")]

Row = dict[str, Any]


def summary_row(job: Job, summary: Summary, key: str | None = None) -> Row:
    """A finished run. The key is the job's unless it was worked out before."""
    row = _identity(job, key) | {n: v for n, v in summary.model_dump().items() if n in ROW_SCHEMA.names}
    row |= _identity(job, key)  # the job's words, not the simulator's
    row["warnings"] = "; ".join(sorted(summary.warnings))
    row |= {f"time_shift_{a}_s": v for a, v in zip("xyz", summary.time_shift_s, strict=True)}
    row |= {f"time_shift_{a}_measured": v for a, v in zip("xyz", summary.time_shift_measured, strict=True)}
    row |= {f"time_shift_peak_{a}_s": v for a, v in zip("xyz", summary.time_shift_peak_s, strict=True)}
    return row | {f"solve_ms_{k}": v for k, v in summary.solve_ms.model_dump().items()} | {"crashed": False}


def crashed_row(job: Job, reason: str, code_version: str, key: str | None = None) -> Row:
    """A run that gave no record: a failure of everything, with its reason."""
    verdicts = dict.fromkeys(("crashed", "failed", "fov_failed", "distance_failed", "path_failed", "broken"), True)
    return _identity(job, key) | verdicts | {"failure": reason, "code_version": code_version}


def row_table(row: Row) -> Any:
    """A table of that one row; what the row lacks is null."""
    return pa.Table.from_pylist([{name: row.get(name) for name in ROW_SCHEMA.names}], schema=ROW_SCHEMA)


def _identity(job: Job, key: str | None) -> Row:
    return {"key": key or job.key(), "path": job.path, "condition": job.condition.name, "fleet": job.fleet,
            "controller": job.controller, "seed": job.seed,
            "condition_hash": job.condition.content_hash()}  # fmt: skip
