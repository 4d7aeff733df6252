"""A stretch of a recording on one grid of instants, as a `Recording`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.messages.health import Code, Health, Issue, Mode, Severity
from shoal.messages.limits import Limits
from shoal.messages.wording import sentence
from shoal.recordings import resample
from shoal.recordings.bag_setpoints import setpoints_m
from shoal.recordings.bag_streams import Stream, Streams
from shoal.recordings.bag_windows import Window
from shoal.recordings.recording import About, HealthEvent, Outcome, Recording

Array = NDArray[np.float64]

GAP_S = 1.0  # odometry missing for longer is an event


@dataclass(frozen=True)
class Notes:
    """What the topics do not hold."""

    about: About
    limits: Limits
    thrust_bounds_N: Mapping[str, Array]
    input_names: Mapping[str, tuple[str, ...]]
    hulls_m: Mapping[str, Array]
    bounds: Mapping[str, float]
    outcome: Outcome | None
    must_see: tuple[tuple[str, str], ...] | None  # None: nobody wrote it down


def make_recording(streams: Streams, window: Window, notes: Notes) -> Recording:
    """What was recorded in `window`."""
    states = streams.states()
    names = tuple(sorted(states))
    grid = _grid(streams, window)  # absolute
    reference = resample.linear(grid, *resample.in_order(streams.setpoint.times_s(), np.array(streams.setpoint.rows)))
    health = [_health(streams.health.get(n, Stream()), n, grid, window) for n in names]
    events = [event for h in health for event in h.events]
    events += [event for n, h in zip(names, health, strict=True) for event in _odometry_events(streams, n, window, h)]
    inputs = {name: _inputs(streams.thrust.get(name, {}), notes.input_names.get(name, ())) for name in names}
    thrust = {name: _thrust(streams.thrust.get(name, {}), inputs[name], grid) for name in names}
    bounds = {n: b for n, b in notes.thrust_bounds_N.items() if n in thrust and b.shape[1] == thrust[n].shape[1]}
    vehicles = len(names)
    return Recording(
        names=names,
        times_s=grid - window.start_s,
        states=np.stack([_state_grid(states[n], grid, n in streams.truth) for n in names], axis=1),
        odometry=np.stack([_measured(streams.odometry.get(n), grid) for n in names], axis=1),
        thrust_N=thrust,
        reference_m=reference,
        reference_velocity_mps=np.gradient(reference, grid, axis=0),
        setpoints_m=setpoints_m(streams, names, grid),
        solve_ms=np.stack([h.solve_ms for h in health], axis=1),
        mode=np.stack([h.mode for h in health], axis=1).astype(np.int8),
        slack_max=np.stack([h.slack for h in health], axis=1),
        neighbour_age_s=np.stack([h.age_s for h in health], axis=1),
        current_mps=np.repeat(_current(streams.current, grid)[:, None], vehicles, axis=1),
        plan_times_s=np.empty(0),
        plans_m=np.empty((0, vehicles, 0, 3)),
        plan_dt_s=np.empty(0),
        must_see=_must_see(streams, names, notes.must_see),
        limits=notes.limits,
        thrust_bounds_N=bounds,
        input_names={name: found for name, found in inputs.items() if found},
        hulls_m={name: points for name, points in notes.hulls_m.items() if name in names},
        events=tuple(sorted(events, key=lambda event: (event.t_s, event.vehicle))),
        issue_shares=_issue_shares([h.issues for h in health]),
        bounds=notes.bounds,
        outcome=notes.outcome,
        about=replace(
            notes.about,
            path=window.name,
            fleet=notes.about.fleet or f"{vehicles} vehicle{'s' * (vehicles > 1)}",
            start_stamp_s=window.start_s,
        ),
    )


def _grid(streams: Streams, window: Window) -> Array:
    """As fine as the slowest vehicle's odometry; where a simulation recorded itself, exactly its instants."""
    periods = [float(np.median(np.diff(np.unique(s.times_s())))) for s in streams.states().values()]
    step_s = max(round(max(periods), 6), 1e-3)
    count = int((window.end_s - window.start_s) / step_s + 1e-6) + 1
    return np.asarray(window.start_s + step_s * np.arange(count), dtype=float)


def _state_grid(stream: Stream, grid: Array, is_truth: bool) -> Array:
    times, rows = resample.in_order(stream.times_s(), np.array(stream.rows))
    sound = np.all(np.isfinite(rows), axis=1) | is_truth  # a sensor's nonsense is not the vehicle's state
    return resample.states(grid, times[sound], rows[sound])


def _odometry_events(streams: Streams, name: str, window: Window, health: _VehicleHealth) -> list[HealthEvent]:
    """Where recorded odometry is missing for long, or not a number: beside what the controller itself reported."""
    stream = streams.states()[name]
    times, rows = resample.in_order(stream.times_s(), np.array(stream.rows))
    issues = []
    bad = np.flatnonzero(~np.all(np.isfinite(rows), axis=1))
    if len(bad) and name not in streams.truth:
        issues.append((float(times[bad[0]]), Issue(Code.ODOMETRY_NOT_FINITE, Severity.WARNING, value=float(len(bad)))))
    gaps_s = np.diff(times)
    for k in np.flatnonzero(gaps_s > GAP_S):
        if window.start_s < times[k + 1] and times[k] < window.end_s:
            issues.append((float(times[k]), Issue(Code.ODOMETRY_STALE, Severity.WARNING, value=float(gaps_s[k]))))
    return [HealthEvent(t_s - window.start_s, name, health.mode_at(t_s), (issue,)) for t_s, issue in issues]


def _measured(stream: Stream | None, grid: Array) -> Array:
    if stream is None or not stream.rows:
        return np.full((len(grid), 13), np.nan)
    times, rows = resample.in_order(stream.times_s(), np.array(stream.rows))
    sound = np.all(np.isfinite(rows), axis=1)
    return resample.states(grid, times[sound], rows[sound]) if sound.any() else np.full((len(grid), 13), np.nan)


def _inputs(by_thruster: dict[str, Stream], known: tuple[str, ...]) -> tuple[str, ...]:
    """In the vehicle's order where it is known, else in that of their numbers."""
    if set(by_thruster) == set(known):
        return known
    return tuple(sorted(by_thruster, key=lambda name: [int(n) for n in re.findall(r"\d+", name)] or [0]))


def _thrust(by_thruster: dict[str, Stream], ordered: tuple[str, ...], grid: Array) -> Array:
    """(T, thrusters) in that order."""
    columns = [resample.held(grid, *_column(by_thruster[name]), before=0.0) for name in ordered]
    return np.stack(columns, axis=1) if columns else np.zeros((len(grid), 0))


@dataclass(frozen=True)
class _VehicleHealth:
    """One vehicle's diagnostics on the grid, each as last published."""

    mode: Array  # (T,)
    solve_ms: Array  # (T,)
    slack: Array  # (T,)
    age_s: Array  # (T,)
    issues: list[tuple[Issue, ...]]  # T
    events: list[HealthEvent]
    statuses: list[tuple[float, Health]]

    def mode_at(self, t_s: float) -> Mode:
        """As last published by then."""
        return next((health.mode for at_s, health in reversed(self.statuses) if at_s <= t_s), Mode.CONTROLLER)


def _health(stream: Stream, name: str, grid: Array, window: Window) -> _VehicleHealth:
    times, rows = stream.times_s(), stream.rows

    def held(values: list[float], before: float = np.nan) -> Array:
        return resample.held(grid, times, np.array(values, dtype=float), before)

    index = held([float(k) for k in range(len(rows))], -1.0).astype(int)
    statuses = list(zip(times.tolist(), rows, strict=True))
    return _VehicleHealth(
        mode=held([float(h.mode) for h in rows], 0.0),
        solve_ms=held([h.solve_ms for h in rows]),
        slack=held([h.slack_soft for h in rows]),
        age_s=held([max(h.neighbour_age_s.values(), default=np.nan) for h in rows]),
        issues=[rows[k].issues if k >= 0 else () for k in index],
        events=_changes(statuses, name, window),
        statuses=statuses,
    )


def _changes(statuses: list[tuple[float, Health]], name: str, window: Window) -> list[HealthEvent]:
    """As the simulator has it: an event wherever the mode or the issues change, and at the start if all is not well."""
    before = [health for t_s, health in statuses if t_s < window.start_s - 1e-6][-1:]
    inside = [
        (t_s - window.start_s, h) for t_s, h in statuses if -1e-6 <= t_s - window.start_s <= window.length_s + 1e-6
    ]
    events = []
    last: tuple[object, ...] = (Mode.CONTROLLER, ())
    for t_s, health in [*((0.0, health) for health in before), *inside]:
        now = (health.mode, tuple(issue.key for issue in health.issues))
        if now != last:
            events.append(HealthEvent(t_s, name, health.mode, health.issues))
        last = now
    return events


def _issue_shares(per_vehicle: list[list[tuple[Issue, ...]]]) -> dict[str, float]:
    """Share of all vehicles' instants at which each sentence applied."""
    counts: dict[str, int] = {}
    for issues in per_vehicle:
        for now in issues:
            for issue in now:
                text = sentence(issue)
                counts[text] = counts.get(text, 0) + 1
    total = max(1, sum(map(len, per_vehicle)))
    return {text: count / total for text, count in counts.items()}


def _current(stream: Stream, grid: Array) -> Array:
    return resample.held(grid, stream.times_s(), np.array(stream.rows, dtype=float).reshape(-1, 3), before=0.0)


def _must_see(
    streams: Streams, names: tuple[str, ...], noted: tuple[tuple[str, str], ...] | None
) -> tuple[tuple[int, int], ...]:
    """As noted, else as in the formation, else by the angles that were recorded, else all pairs."""
    placed = streams.formation.rows[-1].get("sight") if streams.formation.rows else None
    pairs = noted if noted is not None else placed
    if pairs is None:
        pairs = sorted(streams.sight_topics) or [(a, b) for a in names for b in names if a != b]
    index = {name: i for i, name in enumerate(names)}
    return tuple((index[a], index[b]) for a, b in pairs if a in index and b in index)


def _column(stream: Stream) -> tuple[Array, Array]:
    return resample.in_order(stream.times_s(), np.array(stream.rows, dtype=float))
