"""A stretch of a recording on one grid of instants, as a `RunRecord`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.messages.health import Mode
from shoal.recordings import resample
from shoal.recordings.bag_streams import Stream, Streams
from shoal.recordings.bag_windows import Window
from shoal.recordings.recording import Limits, RunRecord

Array = NDArray[np.float64]
Events = list[tuple[float, str, str]]

GAP_S = 1.0  # odometry missing for longer is worth a word


def make_record(streams: Streams, window: Window, limits: Limits, told: Mapping[str, Any]) -> RunRecord:
    """What was recorded in `window`; `told` is what the recording says of itself."""
    states = streams.states()
    names = tuple(sorted(states))
    grid = _grid(streams, window)  # absolute
    events: Events = []
    truth = np.stack([_state_grid(n, states[n], grid, window, events, n in streams.truth) for n in names], axis=1)
    measured = np.stack([_measured(streams.odometry.get(n), grid) for n in names], axis=1)
    reference = resample.linear(grid, *resample.in_order(streams.setpoint.times_s(), np.array(streams.setpoint.rows)))
    health = [_health(streams.health.get(n, Stream()), n, grid, window, events) for n in names]
    thrust = [_thrust(streams.thrust.get(n, {}), grid) for n in names]
    widest = max((t.shape[1] for t in thrust), default=0)
    vehicles = len(names)
    return RunRecord(
        names=names,
        times_s=grid - window.start_s,
        states=truth,
        odometry=measured,
        thrust_N=np.stack([np.pad(t, ((0, 0), (0, widest - t.shape[1]))) for t in thrust], axis=1),
        reference_m=reference,
        reference_velocity_mps=np.gradient(reference, grid, axis=0),
        slots_m=np.repeat(reference[:, None], vehicles, axis=1),  # recordings tell the common point only
        solve_ms=np.stack([h["solve_ms"] for h in health], axis=1),
        mode=np.stack([h["mode"] for h in health], axis=1).astype(np.int8),
        slack_max=np.stack([h["slack"] for h in health], axis=1),
        neighbour_age_s=np.stack([h["age_s"] for h in health], axis=1),
        current_mps=np.repeat(_current(streams.current, grid)[:, None], vehicles, axis=1),
        plan_times_s=np.empty(0),
        plans_m=np.empty((0, vehicles, 0, 3)),
        plan_dt_s=np.empty(0),
        must_see=_must_see(streams, names),
        limits=limits,
        events=tuple(sorted(events)),
        meta={
            "path": window.name,
            "fleet": Path(str(told.get("fleet", ""))).stem or f"{vehicles} vehicle{'s' * (vehicles > 1)}",
            "condition": str(told.get("condition", "recorded")),
            "controller": str(told.get("controller", "")),
            "seed": int(told.get("seed", 0)),
            "code_version": str(told.get("code_version") or told.get("shoal_version", "")),
            "start_stamp_s": window.start_s,
        },
    )


def _grid(streams: Streams, window: Window) -> Array:
    """As fine as the slowest vehicle's odometry; where a simulation recorded itself, exactly its instants."""
    periods = [float(np.median(np.diff(np.unique(s.times_s())))) for s in streams.states().values()]
    step_s = max(round(max(periods), 6), 1e-3)
    count = int((window.end_s - window.start_s) / step_s + 1e-6) + 1
    return np.asarray(window.start_s + step_s * np.arange(count), dtype=float)


def _state_grid(name: str, stream: Stream, grid: Array, window: Window, events: Events, is_truth: bool) -> Array:
    times, rows = resample.in_order(stream.times_s(), np.array(stream.rows))
    sound = np.all(np.isfinite(rows), axis=1)
    if not is_truth and not sound.all():  # a sensor's nonsense is not the vehicle's state
        events.append((0.0, name, f"{np.count_nonzero(~sound)} odometries are not numbers, left out"))
        times, rows = times[sound], rows[sound]
    for k in np.flatnonzero(np.diff(times) > GAP_S):
        if window.start_s < times[k + 1] and times[k] < window.end_s:
            events.append((float(times[k]) - window.start_s, name, f"no odometry for {times[k + 1] - times[k]:.1f} s"))
    return resample.states(grid, times, rows)


def _measured(stream: Stream | None, grid: Array) -> Array:
    if stream is None or not stream.rows:
        return np.full((len(grid), 13), np.nan)
    times, rows = resample.in_order(stream.times_s(), np.array(stream.rows))
    sound = np.all(np.isfinite(rows), axis=1)
    return resample.states(grid, times[sound], rows[sound]) if sound.any() else np.full((len(grid), 13), np.nan)


def _thrust(by_thruster: dict[str, Stream], grid: Array) -> Array:
    """(T, thrusters) in the order of their numbers."""
    ordered = sorted(by_thruster, key=lambda name: [int(n) for n in re.findall(r"\d+", name)] or [0])
    columns = [resample.held(grid, *_column(by_thruster[name]), before=0.0) for name in ordered]
    return np.stack(columns, axis=1) if columns else np.zeros((len(grid), 0))


def _health(stream: Stream, name: str, grid: Array, window: Window, events: Events) -> dict[str, Array]:
    """Figures as last told; a change of mode is an event."""
    times = stream.times_s()
    modes = np.array([_mode(said) for said in stream.rows], dtype=float)
    for k in range(len(modes)):
        if (modes[k] != (modes[k - 1] if k else 0)) and window.start_s <= times[k] <= window.end_s:
            text = stream.rows[k].get("reason") or stream.rows[k].get("message", "")
            events.append((float(times[k]) - window.start_s, name, f"{Mode(int(modes[k])).name.lower()}: {text}"))

    def told(*keys: str, before: float = np.nan) -> Array:
        values = np.array([_number(said, *keys) for said in stream.rows], dtype=float)
        return resample.held(grid, times, values, before)

    ages = np.array([_oldest(said) for said in stream.rows], dtype=float)
    return {
        "mode": resample.held(grid, times, modes, 0.0),
        "solve_ms": told("solve_ms"),
        "slack": told("slack", "slack_max"),
        "age_s": resample.held(grid, times, ages, np.nan),
    }


def _current(stream: Stream, grid: Array) -> Array:
    return resample.held(grid, stream.times_s(), np.array(stream.rows, dtype=float).reshape(-1, 3), before=0.0)


def _must_see(streams: Streams, names: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """As the formation says, else whose angles were recorded, else everybody everybody."""
    said = streams.formation.rows[-1].get("sight") if streams.formation.rows else None
    pairs = [tuple(pair) for pair in said] if said is not None else sorted(streams.sight_topics)
    if said is None and not pairs:
        pairs = [(a, b) for a in names for b in names if a != b]
    index = {name: i for i, name in enumerate(names)}
    return tuple((index[a], index[b]) for a, b in pairs if a in index and b in index)


def _column(stream: Stream) -> tuple[Array, Array]:
    return resample.in_order(stream.times_s(), np.array(stream.rows, dtype=float))


def _mode(said: Mapping[str, str]) -> int:
    """`mode: nmpc` of the node, or the first word of the simulator's message."""
    word = (said.get("mode") or re.split(r"[;: ]", said.get("message", ""))[0]).upper()
    return int(Mode[word]) if word in Mode.__members__ else 0


def _number(said: Mapping[str, str], *keys: str) -> float:
    for key in keys:
        try:
            return float(said[key])
        except (KeyError, ValueError):
            continue
    return float("nan")


def _oldest(said: Mapping[str, str]) -> float:
    ages = [_number(said, key) for key in said if key.startswith("age_s ") or key == "neighbour_age_s"]
    return max(ages) if ages else float("nan")
