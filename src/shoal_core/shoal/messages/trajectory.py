"""Sampled motion read between its samples: prepared once, asked many times."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from ctypes import addressof, c_double
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.codegen import STRICT_FLAGS, as_bytes, doubles, load_library

Array = NDArray[np.float64]


@cache
def library() -> Any:
    """trajectory.c; None where there is no compiler."""
    loaded = load_library(Path(__file__).with_name("trajectory.c"), STRICT_FLAGS)
    if loaded is not None:
        loaded.trajectory_closest.restype = c_double
    return loaded


class Trajectory:
    """Straight between the samples, the given slopes outside them.

    Machine code where there is a compiler; `prepare`, `pick` and `read` are the same in numpy.
    """

    __slots__ = ("_memory", "_place", "_width", "end_s")

    def __init__(self, times_s: Array, values: Array, slope_before: Array, slope_after: Array) -> None:
        """`times_s` (K,), increasing; `values` (K,n); slopes (n,)."""
        count, width = values.shape
        native = library()
        if native is None:
            self._memory: Any = prepare(times_s, values, slope_before, slope_after)
            self._width, self.end_s = width, float(times_s[-1])
            return
        self._reserve(count, width, float(times_s[-1]))
        given = as_bytes(times_s), as_bytes(values), as_bytes(slope_before), as_bytes(slope_after)
        native.trajectory_prepare(count, width, *given, self._memory)

    def _reserve(self, count: int, width: int, end_s: float) -> None:
        self._memory, self._width, self.end_s = doubles((count + 1) * (1 + 2 * width)), width, end_s
        self._place = struct.pack("qq", addressof(self._memory), count)  # as C reads it

    @staticmethod
    def _empty(count: int, width: int, end_s: float) -> Trajectory:
        made = Trajectory.__new__(Trajectory)
        made._reserve(count, width, end_s)
        return made

    @property
    def rows(self) -> Array:
        """(K+1, 1+2n) as `prepare` makes them."""
        return np.asarray(self._memory, dtype=np.float64).reshape(-1, 1 + 2 * self._width)

    def at(self, times_s: Array) -> Array:
        """Values (M,n) at `times_s` (M,)."""
        return np.asarray(read_all((self,), times_s)[0])


def read_all(trajectories: Sequence[Trajectory], times_s: Array) -> Array:
    """Values (V,M,n) of trajectories of equal width, all at the same instants (M,)."""
    native = library()
    if native is None:
        return read(np.array([pick(t.rows, times_s) for t in trajectories]), times_s)
    count, points, width = len(trajectories), len(times_s), trajectories[0]._width
    found, places = doubles(count * points * width), b"".join([t._place for t in trajectories])
    native.trajectory_read(count, places, width, points, as_bytes(times_s), found)
    return np.frombuffer(found).reshape(count, points, width)


def is_valid(times_s: Array, positions_m: Array, velocities_mps: Array) -> bool:
    """Whether they can be computed with: at least one, times (K,) in order, positions and velocities (K,3) finite."""
    native = library()
    if native is not None:
        given = as_bytes(times_s), as_bytes(positions_m), as_bytes(velocities_mps)
        return bool(native.trajectory_valid(len(times_s), *given))
    if not len(times_s) or not (times_s[1:] > times_s[:-1]).all():
        return False
    return math.isfinite(positions_m.sum() + velocities_mps.sum() + times_s.sum())


def along(times_s: Array, positions_m: Array) -> tuple[Array, Trajectory]:
    """Velocities (K,3) from each position (K,3) to the next, K > 1, the last of which goes on; and that trajectory."""
    native, count = library(), len(times_s)
    if native is None:
        ahead = (positions_m[1:] - positions_m[:-1]) / (times_s[1:] - times_s[:-1])[:, None]
        velocities = np.concatenate([ahead, ahead[-1:]])
        return velocities, Trajectory(times_s, positions_m, velocities[0], velocities[-1])
    found, made = doubles(3 * count), Trajectory._empty(count, 3, float(times_s[-1]))
    native.trajectory_along(count, as_bytes(times_s), as_bytes(positions_m), found, made._memory)
    return np.frombuffer(found).reshape(count, 3), made


def closest_m2(others_m: Array, own_m: Array) -> float:
    """Smallest squared distance of `own_m` (M,3) from any of `others_m` (V,M,3) at the same instant; ∞ of none."""
    native = library()
    if native is not None:
        return float(native.trajectory_closest(len(others_m), len(own_m), as_bytes(others_m), as_bytes(own_m)))
    gap = others_m - own_m
    return float(np.einsum("vmi,vmi->vm", gap, gap).min(initial=math.inf))


def prepare(times_s: Array, values: Array, slope_before: Array, slope_after: Array) -> Array:
    """Rows [time, values, slopes] (K+1, 1+2n): for each interval, before the first and after the last sample."""
    count, n = values.shape
    rows = np.empty((count + 1, 1 + 2 * n))
    rows[1:, 0], rows[1:, 1 : n + 1] = times_s, values
    rows[0, : n + 1] = rows[1, : n + 1]
    rows[0, n + 1 :], rows[-1, n + 1 :] = slope_before, slope_after
    if count > 1:
        rows[1:-1, n + 1 :] = (values[1:] - values[:-1]) / (times_s[1:] - times_s[:-1])[:, None]
    return rows


def pick(rows: Array, times_s: Array) -> Array:
    """The row of each time (M, 1+2n)."""
    return rows.take(rows[1:, 0].searchsorted(times_s, side="right"), axis=0)


def read(picked: Array, times_s: Array) -> Array:
    """Values (…, M, n) of picked rows (…, M, 1+2n) at their times (…, M) or (M,)."""
    n = picked.shape[-1] // 2
    return np.asarray(picked[..., 1 : n + 1] + (times_s[..., None] - picked[..., :1]) * picked[..., n + 1 :])
