"""Time series of a run as Parquet, and back: what is written here is all that `shoal view` and a re-judgement need.

`timeseries.parquet` is wide: one row per instant, columns `<vehicle>.<quantity>`. `plans.parquet` is long: one row per
plan point. Names, pairs, limits, events, outcome and what was run travel as JSON in the time series' schema metadata.
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
from shoal.messages.health import Code
from shoal.recordings import older
from shoal.recordings.recording import Outcome, Recording, TrueFault

Array = NDArray[np.float64]

TIMESERIES, PLANS = "timeseries.parquet", "plans.parquet"
STATE_COLUMNS = (
    "n_m",
    "e_m",
    "d_m",
    "eta",
    "e1",
    "e2",
    "e3",
    "u_mps",
    "v_mps",
    "w_mps",
    "p_radps",
    "q_radps",
    "r_radps",
)
_NED = ("n", "e", "d")
_KEY = b"shoal"


def write_parquet(recording: Recording, folder: Path) -> None:
    """Both files; the caller makes the folder appear atomically."""
    table = pa.table(_columns(recording)).replace_schema_metadata({_KEY: json.dumps(_head(recording)).encode()})
    pq.write_table(table, folder / TIMESERIES, compression="zstd")
    pq.write_table(_plan_table(recording), folder / PLANS, compression="zstd")


def read_parquet(folder: Path) -> Recording:
    """The recording that `write_parquet` wrote, today or in an older version."""
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

    with_timing = f"{names[0]}.timing_error_s" in table.column_names
    setpoint = "setpoint" if f"{names[0]}.setpoint_n_m" in table.column_names else "slot"  # as it was called before
    plan_times, plans, plan_dt = _read_plans(folder / PLANS, len(names))
    return Recording(
        names=tuple(names),
        times_s=table["t_s"].to_numpy(),
        states=per_vehicle(*STATE_COLUMNS),
        odometry=per_vehicle(*[f"measured_{c}" for c in STATE_COLUMNS]),
        thrust_N={name: _thrust(table, name) for name in names},
        reference_m=_stack(table, [f"reference_{c}_m" for c in _NED]),
        reference_velocity_mps=_stack(table, [f"reference_{c}_mps" for c in _NED]),
        setpoints_m=per_vehicle(*[f"{setpoint}_{c}_m" for c in _NED]),
        solve_ms=per_vehicle("solve_ms")[:, :, 0],
        mode=per_vehicle("mode")[:, :, 0].astype(np.int8),
        slack_max=per_vehicle("slack_max")[:, :, 0],
        neighbour_age_s=per_vehicle("neighbour_age_s")[:, :, 0],
        current_mps=per_vehicle(*[f"current_{c}_mps" for c in _NED]),
        timing_error_s=per_vehicle("timing_error_s")[:, :, 0] if with_timing else None,
        plan_times_s=plan_times,
        plans_m=plans,
        plan_dt_s=plan_dt,
        must_see=tuple((a, b) for a, b in head["must_see"]),
        limits=older.limits_of(head["limits"]),
        thrust_bounds_N={name: np.array(bounds) for name, bounds in head.get("thrust_bounds_N", {}).items()},
        input_names={name: tuple(inputs) for name, inputs in head.get("input_names", {}).items()},
        hulls_m={name: np.array(points) for name, points in head.get("hulls_m", {}).items()},
        bounds=dict(head.get("bounds", {})),
        events=tuple(older.event_of(entry) for entry in head["events"]),
        true_faults=tuple(_true_fault(*entry) for entry in head.get("true_faults", ())),
        **_rest(head),
    )


def _true_fault(from_s: float, vehicle: str, code: str | None, thruster: str) -> TrueFault:
    return TrueFault(from_s, vehicle, None if code is None else Code(code), thruster)


def _head(recording: Recording) -> dict[str, Any]:
    return {
        "names": recording.names,
        "must_see": recording.must_see,
        "limits": recording.limits.model_dump(),
        "thrust_bounds_N": {name: bounds.tolist() for name, bounds in recording.thrust_bounds_N.items()},
        "input_names": {name: list(inputs) for name, inputs in recording.input_names.items()},
        "hulls_m": {name: points.tolist() for name, points in recording.hulls_m.items()},
        "bounds": dict(recording.bounds),
        "events": [event.to_json() for event in recording.events],
        "true_faults": [(f.from_s, f.vehicle, f.code and f.code.value, f.thruster) for f in recording.true_faults],
        "issue_shares": dict(recording.issue_shares),
        "outcome": None if recording.outcome is None else asdict(recording.outcome),
        "about": asdict(recording.about),
    }


def _rest(head: dict[str, Any]) -> dict[str, Any]:
    """`meta` is where older versions kept it."""
    if "about" not in head:
        meta = head["meta"]
        return {"issue_shares": dict(meta.get("warnings", {})), "outcome": older.outcome_of(meta),
                "about": older.about_of(meta)}  # fmt: skip
    outcome = None if head["outcome"] is None else Outcome(**head["outcome"])
    return {"issue_shares": head["issue_shares"], "outcome": outcome, "about": older.about_of(head["about"])}


def _columns(recording: Recording) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {"t_s": recording.times_s}
    _spread(columns, [f"reference_{c}_m" for c in _NED], recording.reference_m)
    _spread(columns, [f"reference_{c}_mps" for c in _NED], recording.reference_velocity_mps)
    for v, name in enumerate(recording.names):
        thrust = recording.thrust_N[name]
        _spread(columns, [f"{name}.{c}" for c in STATE_COLUMNS], recording.states[:, v])
        _spread(columns, [f"{name}.measured_{c}" for c in STATE_COLUMNS], recording.odometry[:, v])
        _spread(columns, [f"{name}.thrust{i + 1}_N" for i in range(thrust.shape[1])], thrust)
        _spread(columns, [f"{name}.setpoint_{c}_m" for c in _NED], recording.setpoints_m[:, v])
        _spread(columns, [f"{name}.current_{c}_mps" for c in _NED], recording.current_mps[:, v])
        for key in ("solve_ms", "mode", "slack_max", "neighbour_age_s"):
            columns[f"{name}.{key}"] = getattr(recording, key)[:, v]
        if recording.timing_error_s is not None:
            columns[f"{name}.timing_error_s"] = recording.timing_error_s[:, v]
    return columns


def _thrust(table: Any, name: str) -> Array:
    """(T,n) with as many thrusters as the vehicle has; none at all is possible."""
    count = sum(column.startswith(f"{name}.thrust") for column in table.column_names)
    return _stack(table, [f"{name}.thrust{i + 1}_N" for i in range(count)]) if count else np.zeros((len(table), 0))


def _spread(columns: dict[str, NDArray[Any]], names: list[str], values: Array) -> None:
    columns.update({name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(names)})


def _stack(table: Any, columns: list[str]) -> Array:
    return np.stack([table[c].to_numpy() for c in columns], axis=1)


def _plan_table(recording: Recording) -> Any:
    count, vehicles, points, _ = recording.plans_m.shape
    index = np.indices((count, vehicles, points)).reshape(3, -1)
    flat = recording.plans_m.reshape(-1, 3)
    return pa.table({"t_s": recording.plan_times_s[index[0]], "vehicle": index[1].astype(np.int16),
                     "dt_s": recording.plan_dt_s[index[2]], "n_m": flat[:, 0], "e_m": flat[:, 1],
                     "d_m": flat[:, 2]})  # fmt: skip


def _read_plans(file: Path, vehicles: int) -> tuple[Array, Array, Array]:
    table = pq.read_table(file)
    times, dt = table["t_s"].to_numpy(), table["dt_s"].to_numpy()
    if not len(times):
        return np.empty(0), np.empty((0, vehicles, 0, 3)), np.empty(0)
    points = int(np.argmax(np.append(table["vehicle"].to_numpy(), vehicles) != 0))
    plans = np.stack([table[c].to_numpy() for c in ("n_m", "e_m", "d_m")], axis=1)
    return times[:: vehicles * points], plans.reshape(-1, vehicles, points, 3), dt[:points]
