"""One run as one row: the columns of a campaign's data set.

Columns are those of the identity below and, for each metric, its value and what belongs to it: `fov_max_deg`,
`fov_max_deg_at_s`, `…_subject`, `…_bound`, `…_failed`. Those that depend on the machine or the hour (solve times, wall
time) are kept apart, so that a campaign that was killed and resumed equals an undisturbed one, value by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal.evaluation.metric import MetricInfo
from shoal.evaluation.summary import IDENTITY, Summary

if TYPE_CHECKING:
    from shoal.recordings.recording import About

_TEXT, _FLAG, _WHOLE, _REAL = pa.string(), pa.bool_(), pa.int64(), pa.float64()

FIXED = {
    "key": _TEXT, "task": _TEXT, "path": _TEXT, "condition": _TEXT, "fleet": _TEXT, "controller": _TEXT, "seed": _WHOLE,
    "condition_hash": _TEXT, "code_version": _TEXT, "vehicles": _WHOLE, "duration_s": _REAL, "control_period_s": _REAL,
    "crashed": _FLAG, "failed": _FLAG, "failure": _TEXT, "goal": _TEXT, "issues": pa.list_(_TEXT),
}  # fmt: skip
STAMPS = {"finished_utc": _TEXT, "machine": _TEXT}  # with the metrics that are not reproducible
EXTRAS = {"": _REAL, "_at_s": _REAL, "_subject": _TEXT, "_bound": _REAL, "_failed": _FLAG}  # of each metric
SORT_KEYS = [(name, "ascending") for name in ("task", "path", "condition", "fleet", "controller", "seed", "key")]

Row = dict[str, Any]


def summary_row(summary: Summary, key: str, condition_hash: str = "") -> Row:
    """A finished run, by the recording's own words."""
    return summary.row() | {"key": key, "condition_hash": condition_hash, "crashed": False}


def crashed_row(about: About, reason: str, key: str, condition_hash: str = "") -> Row:
    """A run that gave no recording: a failure of everything, with its reason."""
    identity = {name: getattr(about, name) for name in (*IDENTITY, "code_version", "control_period_s")}
    return identity | {
        "key": key,
        "condition_hash": condition_hash,
        "crashed": True,
        "failed": True,
        "failure": reason,
        "goal": "",
        "issues": [],
    }


def row_table(row: Row, metrics: Iterable[MetricInfo]) -> Any:
    """A table of that one row. Metrics that do not apply to the run have no column in it."""
    types = FIXED | STAMPS
    for metric in metrics:
        types |= {f"{metric.name}{end}": kind for end, kind in EXTRAS.items() if f"{metric.name}{end}" in row}
    schema = pa.schema(list(types.items()))
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names}], schema=schema)


def one_table(tables: Sequence[Any], metrics: Iterable[MetricInfo]) -> Any:
    """All rows, sorted, with the columns in order; what a row does not have is null."""
    if not tables:
        return pa.schema(list((FIXED | STAMPS).items())).empty_table()
    joined = pa.concat_tables(tables, promote_options="default")
    known = [*FIXED, *(f"{m.name}{end}" for m in metrics for end in EXTRAS), *STAMPS]
    order = [name for name in known if name in joined.column_names]
    for name in FIXED:  # rows of an older version
        if name not in order:
            joined = joined.append_column(name, pa.nulls(len(joined), FIXED[name]))
    missing = [name for name in joined.column_names if name not in order]
    return joined.select([*order, *missing]).sort_by(SORT_KEYS)


def data_columns(table: Any, metrics: Iterable[MetricInfo]) -> tuple[list[str], list[str]]:
    """Those of the data set, and those that depend on the machine."""
    timed = {f"{m.name}{end}" for m in metrics if not m.reproducible for end in EXTRAS} | set(STAMPS)
    names = table.column_names
    return [n for n in names if n not in timed], ["key", *(n for n in names if n in timed)]
