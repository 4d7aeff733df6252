"""Time series of a run as Parquet, and back: what is written here is all that `shoal view` and a re-judgement need.

`timeseries.parquet` is wide: one row per instant, columns `<vehicle>.<quantity>`. `plans.parquet` is long: one row per
plan point. Names, pairs, limits, events and meta travel as JSON in the time series' schema metadata.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.recordings.recording import Limits, RunRecord

Array = NDArray[np.float64]

TIMESERIES, PLANS = "timeseries.parquet", "plans.parquet"
_STATE = ("n_m", "e_m", "d_m", "eta", "e1", "e2", "e3", "u_mps", "v_mps", "w_mps", "p_radps", "q_radps", "r_radps")
_NED = ("n", "e", "d")
_KEY = b"shoal"


def write_parquet(record: RunRecord, folder: Path) -> None:
    """Both files; the caller makes the folder appear atomically."""
    head = {"names": record.names, "must_see": record.must_see, "limits": asdict(record.limits),
            "events": record.events, "meta": dict(record.meta)}  # fmt: skip
    table = pa.table(_columns(record)).replace_schema_metadata({_KEY: json.dumps(head).encode()})
    pq.write_table(table, folder / TIMESERIES, compression="zstd")
    pq.write_table(_plan_table(record), folder / PLANS, compression="zstd")


def read_parquet(folder: Path) -> RunRecord:
    """The record that `write_parquet` wrote."""
    for name in (TIMESERIES, PLANS):
        if not (folder / name).is_file():
            raise ShoalError(f"{folder}: holds no {name}; expected a run directory as `shoal simulate --out` writes it")
    table = pq.read_table(folder / TIMESERIES)
    head = json.loads((table.schema.metadata or {}).get(_KEY, b"null"))
    if head is None:
        raise ShoalError(f"{folder / TIMESERIES}: has no 'shoal' metadata; expected a file that shoal wrote")
    names: list[str] = head["names"]

    def per_vehicle(*columns: str) -> Array:
        return np.stack([_stack(table, [f"{name}.{c}" for c in columns]) for name in names], axis=1)

    thrusters = sum(c.startswith(f"{names[0]}.thrust") for c in table.column_names)
    plan_times, plans, plan_dt = _read_plans(folder / PLANS, len(names))
    return RunRecord(
        names=tuple(names),
        times_s=table["t_s"].to_numpy(),
        states=per_vehicle(*_STATE),
        odometry=per_vehicle(*[f"measured_{c}" for c in _STATE]),
        thrust_N=per_vehicle(*[f"thrust{i + 1}_N" for i in range(thrusters)]),
        reference_m=_stack(table, [f"reference_{c}_m" for c in _NED]),
        reference_velocity_mps=_stack(table, [f"reference_{c}_mps" for c in _NED]),
        slots_m=per_vehicle(*[f"slot_{c}_m" for c in _NED]),
        solve_ms=per_vehicle("solve_ms")[:, :, 0],
        mode=per_vehicle("mode")[:, :, 0].astype(np.int8),
        slack_max=per_vehicle("slack_max")[:, :, 0],
        neighbour_age_s=per_vehicle("neighbour_age_s")[:, :, 0],
        current_mps=per_vehicle(*[f"current_{c}_mps" for c in _NED]),
        plan_times_s=plan_times,
        plans_m=plans,
        plan_dt_s=plan_dt,
        must_see=tuple((a, b) for a, b in head["must_see"]),
        limits=Limits(**head["limits"]),
        events=tuple((t, vehicle, text) for t, vehicle, text in head["events"]),
        meta=head["meta"],
    )


def _columns(record: RunRecord) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {"t_s": record.times_s}
    _spread(columns, [f"reference_{c}_m" for c in _NED], record.reference_m)
    _spread(columns, [f"reference_{c}_mps" for c in _NED], record.reference_velocity_mps)
    for v, name in enumerate(record.names):
        _spread(columns, [f"{name}.{c}" for c in _STATE], record.states[:, v])
        _spread(columns, [f"{name}.measured_{c}" for c in _STATE], record.odometry[:, v])
        _spread(columns, [f"{name}.thrust{i + 1}_N" for i in range(record.thrust_N.shape[2])], record.thrust_N[:, v])
        _spread(columns, [f"{name}.slot_{c}_m" for c in _NED], record.slots_m[:, v])
        _spread(columns, [f"{name}.current_{c}_mps" for c in _NED], record.current_mps[:, v])
        for key in ("solve_ms", "mode", "slack_max", "neighbour_age_s"):
            columns[f"{name}.{key}"] = getattr(record, key)[:, v]
    return columns


def _spread(columns: dict[str, NDArray[Any]], names: list[str], values: Array) -> None:
    columns.update({name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(names)})


def _stack(table: Any, columns: list[str]) -> Array:
    return np.stack([table[c].to_numpy() for c in columns], axis=1)


def _plan_table(record: RunRecord) -> Any:
    count, vehicles, points, _ = record.plans_m.shape
    index = np.indices((count, vehicles, points)).reshape(3, -1)
    flat = record.plans_m.reshape(-1, 3)
    return pa.table({"t_s": record.plan_times_s[index[0]], "vehicle": index[1].astype(np.int16),
                     "dt_s": record.plan_dt_s[index[2]], "n_m": flat[:, 0], "e_m": flat[:, 1],
                     "d_m": flat[:, 2]})  # fmt: skip


def _read_plans(file: Path, vehicles: int) -> tuple[Array, Array, Array]:
    table = pq.read_table(file)
    times, dt = table["t_s"].to_numpy(), table["dt_s"].to_numpy()
    if not len(times):
        return np.empty(0), np.empty((0, vehicles, 0, 3)), np.empty(0)
    points = int(np.argmax(np.append(table["vehicle"].to_numpy(), vehicles) != 0))
    plans = np.stack([table[c].to_numpy() for c in ("n_m", "e_m", "d_m")], axis=1)
    return times[:: vehicles * points], plans.reshape(-1, vehicles, points, 3), dt[:points]
