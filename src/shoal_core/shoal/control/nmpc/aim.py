"""The compiled way to fill the optimisation; see aim.c."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.codegen import FLAGS, as_bytes, load_library
from shoal.control.base import Neighbours
from shoal.control.nmpc.problem import Problem
from shoal.control.settings import NmpcSettings

Array = NDArray[np.float64]
SOURCE = Path(__file__).with_name("aim.c")


class _Aim(ctypes.Structure):
    """As in aim.c."""

    _fields_ = (
        [(name, ctypes.c_int) for name in ("points", "places", "thrusters", "width", "on_ring", "spare")]
        + [(name, ctypes.c_double) for name in ("soft_m", "hard_m", "approach_mps", "top_mps")]
        + [(name, ctypes.c_double) for name in ("turn_rad", "range_m", "least_way_m")]
        + [(name, ctypes.c_void_p) for name in ("reach_m", "fastest_m", "turns_rad", "x", "u", "stages", "sight")]
    )


class CompiledAim:
    """One problem's; it writes to the problem's own arrays."""

    def __init__(self, problem: Problem, library: ctypes.PyDLL) -> None:
        self._problem, self._aim, self._shift = problem, library.aim, library.shift

    @staticmethod
    def of(problem: Problem) -> CompiledAim | None:
        """None where there is no compiler."""
        library = load_library(SOURCE, FLAGS)
        return None if library is None else CompiledAim(problem, library)

    def apply(self, settings: NmpcSettings, reach_m: Array, fastest_m: Array, turns_rad: Array, top_mps: float) -> None:
        """Settings of the next steps; (N+1,) each: how far the reference may be ahead, get away, and turn."""
        p, rule = self._problem, settings.give_way
        self._kept = reach_m, fastest_m, turns_rad  # C holds their addresses
        self._numbers = ctypes.byref(
            _Aim(
                points=len(p.x),
                places=p.formulation.neighbours,
                thrusters=p.formulation.nu,
                width=p.stages.shape[1],
                on_ring=settings.ring.form != "off",
                soft_m=settings.limits.distance_soft_m,
                hard_m=settings.limits.distance_hard_m,
                approach_mps=settings.approach.speed_mps,
                top_mps=top_mps,
                turn_rad=np.radians(rule.turn_deg),
                range_m=rule.range_m,
                least_way_m=rule.least_way_m,
                **{
                    name: array.ctypes.data
                    for name, array in (
                        ("reach_m", reach_m), ("fastest_m", fastest_m), ("turns_rad", turns_rad),
                        ("x", p.x), ("u", p.u), ("stages", p.stages), ("sight", p.sight),
                    )
                },
            )
        )  # fmt: skip

    def fill(self, state: Array, wanted: Array, known: Neighbours, must_see: frozenset[str], cold: bool) -> bool:
        """Goal and neighbours; whether the reference is finite, else nothing was done.

        `wanted` (N+1, 6 or 7): position, velocity and perhaps heading. `cold`: there is no guess yet.
        """
        seen = bytes([name in must_see for name in known.names])
        neighbours = len(known.names), as_bytes(known.positions_m), as_bytes(known.margins_m), seen
        given = as_bytes(state), as_bytes(wanted), wanted.shape[1], *neighbours, int(cold)
        return bool(self._aim(self._numbers, *given))

    def shift(self, state: Array, index: bytes, share: bytes, fastest: bytes) -> None:
        """The guess moved on: point m is at `share` (float64) of the way from `index` (int32) to the next."""
        self._shift(self._numbers, as_bytes(state), index, share, fastest)
