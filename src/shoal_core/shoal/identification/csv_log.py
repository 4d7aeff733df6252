"""A CSV file as motion data: frames, units, commands to newtons, even steps, gaps that break it into pieces."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.config.files import load_yaml
from shoal.errors import ShoalError
from shoal.frames import enu_to_ned, flu_to_frd, from_euler, quaternion_enu_to_ned, scalar_first, tilt_rad
from shoal.identification.column_map import AxesEntry, ColumnMap, PwmEntry
from shoal.identification.motion_data import MotionData, SensorNoise
from shoal.messages.state import ATTITUDE
from shoal.recordings import resample
from shoal.vehicles.curves import Curve, load_table
from shoal.vehicles.description import AXES, Vehicle
from shoal.vehicles.mixers import heuristic, largest_wrench, quantitative

Array = NDArray[np.float64]
SHORTEST_S = 2.0  # a piece shorter than this shows nothing


def read_csv_log(file: Path, columns: Path, vehicle: Vehicle) -> list[MotionData]:
    """Pieces without gaps. `vehicle` gives the order of thrusters and, for normalised axes, the mixer's geometry."""
    mapping = load_yaml(columns, ColumnMap)
    table = _Table(file, columns)
    times_s = table.column(mapping.time) * mapping.seconds_per_unit
    states, forces = _states(table, mapping), _forces(table, mapping, vehicle)
    order = np.argsort(times_s, kind="stable")
    times_s, states, forces = times_s[order], states[order], forces[order]
    fresh = np.concatenate([[True], np.diff(times_s) > 0])
    whole = fresh & np.isfinite(times_s) & np.isfinite(states).all(axis=1) & np.isfinite(forces).all(axis=1)
    times_s, states, forces = times_s[whole], states[whole], forces[whole]
    if len(times_s) < 3:
        raise ShoalError(f"{file}: {len(times_s)} complete rows; expected at least three")
    step_s = mapping.step_s or float(np.median(np.diff(times_s)))
    if step_s > mapping.gap_s:
        raise ShoalError(f"{columns}: gap_s = {mapping.gap_s:g}; expected more than the time step of {step_s:.3g} s")
    noise = SensorNoise(
        mapping.noise.position_m, float(np.radians(mapping.noise.attitude_deg)), mapping.noise.velocity_mps,
        float(np.radians(mapping.noise.rate_dps)),
    )  # fmt: skip
    pieces = []
    for piece in _pieces(times_s, _left_out(times_s, states, mapping), mapping.gap_s):
        t, count = times_s[piece], int((times_s[piece][-1] - times_s[piece][0]) / step_s + 1e-6)
        if count * step_s < SHORTEST_S:
            continue
        grid = t[0] + step_s * np.arange(count + 1)
        thrust = resample.held(grid, t, forces[piece], before=0.0)
        pieces.append(MotionData(str(file), step_s, resample.states(grid, t, states[piece]), thrust, noise))
    if not pieces:
        raise ShoalError(
            f"{file}: no piece of {SHORTEST_S:g} s without a gap; expected connected motion (gap_s in {columns})"
        )
    return pieces


class _Table:
    """Columns of numbers by name."""

    def __init__(self, file: Path, columns: Path) -> None:
        self._file, self.map = file, columns
        try:
            with file.open(encoding="utf-8", newline="") as stream:
                rows = list(csv.reader(stream))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise ShoalError(f"{file}: cannot be read ({error}); expected a CSV file") from None
        if len(rows) < 2:
            raise ShoalError(f"{file}: has {len(rows)} lines; expected a line of names and lines of numbers")
        self._names = [name.strip() for name in rows[0]]
        self.rows = [row for row in rows[1:] if row]

    def column(self, name: str) -> Array:
        """What is no number is NaN."""
        if name not in self._names:
            known = ", ".join(self._names)[:500]
            raise ShoalError(f"{self.map}: column '{name}' is not in {self._file}; expected one of {known}")
        i = self._names.index(name)
        return np.array([_number(row[i]) if i < len(row) else np.nan for row in self.rows])

    def columns(self, names: Sequence[str]) -> Array:
        """(T,names)."""
        return np.stack([self.column(name) for name in names], axis=1)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return float("nan")
    return value if math.isfinite(value) else float("nan")


def _states(table: _Table, mapping: ColumnMap) -> Array:
    names, unit = mapping.rate
    position, velocity = table.columns(mapping.position_m), table.columns(mapping.velocity_mps)
    rate, attitude = table.columns(names) * unit, mapping.attitude
    if attitude.quaternion_xyzw is not None:
        q = scalar_first(table.columns(attitude.quaternion_xyzw))
        q = q / np.linalg.norm(q, axis=1, keepdims=True)
    else:
        euler = attitude.euler_rad or attitude.euler_deg
        assert euler is not None
        angles = table.columns(euler) * (1.0 if attitude.euler_rad else np.pi / 180)
        q = np.array([from_euler(*row) for row in angles.tolist()])
    if mapping.world == "ENU":
        position, velocity, rate = enu_to_ned(position), flu_to_frd(velocity), flu_to_frd(rate)
        q = quaternion_enu_to_ned(q)
    return np.hstack([position, q, velocity, rate])


def _forces(table: _Table, mapping: ColumnMap, vehicle: Vehicle) -> Array:
    """(T,n) newtons along the thrusters' directions."""
    commands = mapping.commands
    if commands.thrust_N is not None:
        forces = table.columns(commands.thrust_N)
    elif commands.pwm_us is not None:
        forces = _of_pulses(table, commands.pwm_us)
    else:
        assert commands.axes is not None
        return _of_axes(table, commands.axes, vehicle)
    if forces.shape[1] != vehicle.input_count:
        raise ShoalError(
            f"{table.map}: commands: {forces.shape[1]} columns; expected one for each of the {vehicle.input_count} "
            f"thrusters of {vehicle.name}"
        )
    return forces


def _of_pulses(table: _Table, entry: PwmEntry) -> Array:
    curve, found = _curve(entry, table), []
    for name in entry.columns:
        pulses = table.column(name)
        if name in entry.inverted:
            pulses = 2 * curve.neutral - pulses
        found.append(curve.force_N(pulses) * (-1.0 if name in entry.reversed else 1.0))
    return np.stack(found, axis=1)


def _of_axes(table: _Table, entry: AxesEntry, vehicle: Vehicle) -> Array:
    curve = _curve(entry, table)
    axes = np.zeros((len(table.rows), 6))
    for axis, name in entry.columns.items():
        axes[:, AXES.index(axis)] = table.column(name)
    sign = np.array([-1.0 if t.reversed else 1.0 for t in vehicle.thrusters])
    if entry.mixer == "heuristic":
        pulses = np.array([heuristic(vehicle, row, curve.neutral) for row in axes])
    else:
        largest = largest_wrench(vehicle)
        pulses = np.array([quantitative(vehicle, row, largest, curve) for row in axes])
    return np.asarray(curve.force_N(pulses) * sign)


def _curve(entry: PwmEntry | AxesEntry, table: _Table) -> Curve:
    try:
        return load_table(entry.table).at(entry.voltage_V)
    except ValueError as error:
        raise ShoalError(f"{table.map}: {error}") from None


def _left_out(times_s: Array, states: Array, mapping: ColumnMap) -> NDArray[np.bool_]:
    out = np.zeros(len(times_s), dtype=bool)
    if mapping.most_tilt_deg is not None:
        most = np.radians(mapping.most_tilt_deg)
        out |= np.array([tilt_rad(q) > most for q in states[:, ATTITUDE]])
    for start, end in mapping.leave_out_s:
        out |= (times_s >= start) & (times_s <= end)
    return out


def _pieces(times_s: Array, left_out: NDArray[np.bool_], gap_s: float) -> list[NDArray[np.intp]]:
    """Indices of stretches that hold together."""
    kept = np.flatnonzero(~left_out)
    if not len(kept):
        return []
    cut = (np.diff(times_s[kept]) > gap_s) | (np.diff(kept) > 1)
    return [p for p in np.split(kept, np.flatnonzero(cut) + 1) if len(p) > 2]
