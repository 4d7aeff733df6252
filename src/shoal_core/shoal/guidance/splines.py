"""Paths through waypoints: piecewise polynomials in time, slowed down until speed and acceleration are within limits.

segments: Fosso 2023's cubics with a given velocity at each waypoint; acceleration jumps there. natural, clamped: one
cubic spline, acceleration continuous; a natural one is under way at its ends, a clamped one has given velocities there.
quintic: given velocities and no acceleration at its ends, everything up to the fourth derivative continuous.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ShoalError

Array = NDArray[np.float64]
SplineKind = Literal["segments", "natural", "clamped", "quintic"]

SAME_POINT_M = 1e-3  # waypoints nearer than this are one
STRETCHES = 100  # tries to meet the limits; each slows down by at least a hundredth


@dataclass(frozen=True)
class MotionLimits:
    """What a setpoint may do, so that a vehicle can follow it."""

    speed_mps: float = 0.5
    acceleration_mps2: float = 0.2


@dataclass(frozen=True)
class SplinePath:
    """A path made of polynomials; at rest before its first and after its last knot."""

    poly: Any  # scipy PPoly of (3,), knots in seconds from the path's start, which is 0

    @property
    def duration_s(self) -> float:
        return float(self.poly.x[-1])

    @property
    def knots_s(self) -> Array:
        return np.asarray(self.poly.x, dtype=float)

    def position(self, t_s: ArrayLike) -> Array:
        return self.derivative(t_s, 0)

    def velocity(self, t_s: ArrayLike) -> Array:
        return self.derivative(t_s, 1)

    def acceleration(self, t_s: ArrayLike) -> Array:
        return self.derivative(t_s, 2)

    def derivative(self, t_s: ArrayLike, order: int) -> Array:
        t = np.asarray(t_s, dtype=float)
        inside = np.clip(t, 0.0, self.duration_s)
        value = np.asarray(self.poly(inside, nu=order), dtype=float)
        return value if order == 0 else np.where((t == inside)[..., None], value, 0.0)

    def peaks(self) -> tuple[float, float]:
        """The largest speed and acceleration anywhere, exactly."""
        return float(np.max(_largest_norms(self.poly.derivative(1)))), float(
            np.max(_largest_norms(self.poly.derivative(2)))
        )

    def excess(self, limits: MotionLimits) -> Array:
        """How many times slower each piece (knots - 1,) must run to be within limits."""
        speed, acceleration = _largest_norms(self.poly.derivative(1)), _largest_norms(self.poly.derivative(2))
        return np.maximum(speed / limits.speed_mps, np.sqrt(acceleration / limits.acceleration_mps2))


def spline_path(
    waypoints_m: ArrayLike,
    kind: SplineKind,
    speed_mps: ArrayLike,
    limits: MotionLimits,
    velocities_mps: ArrayLike | None = None,
) -> SplinePath:
    """Through all waypoints (W,3), each leg in distance / speed (one, or (W-1,)), all slower if the limits ask for it.

    `velocities_mps` (W,3), default at rest: 'segments' heeds all, 'clamped' and 'quintic' the first and the last.
    """
    points = np.asarray(waypoints_m, dtype=float)
    legs_m = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if len(points) < 2 or np.any(legs_m < SAME_POINT_M):
        raise ShoalError(f"waypoints: {points.tolist()}; expected at least two, each away from the one before")
    legs_s = legs_m / np.asarray(speed_mps, dtype=float)
    velocities = np.zeros_like(points) if velocities_mps is None else np.asarray(velocities_mps, dtype=float)
    least = 1.0 if velocities_mps is None else 1.01  # from rest the first stretch is exact; else it must not crawl
    for _ in range(STRETCHES):
        path = interpolate(kind, np.concatenate([[0.0], np.cumsum(legs_s)]), points, velocities)
        excess = path.excess(limits)
        if np.max(excess) <= 1.0:
            return path
        if kind != "segments":  # the pieces of a spline hang together, those of Fosso 2023 do not
            excess = np.full_like(excess, np.max(excess))
        legs_s = np.where(excess > 1.0, legs_s * np.maximum(excess * (1 + 1e-9), least), legs_s)
    raise ShoalError(
        f"waypoints: velocities up to {np.max(np.linalg.norm(velocities, axis=1)):.3g} m/s; "
        f"expected them below the speed limit of {limits.speed_mps:.3g} m/s"
    )


def interpolate(kind: SplineKind, knots_s: Array, points_m: Array, velocities_mps: Array) -> SplinePath:
    """The spline with these knots, limits aside; `velocities_mps` (W,3) as in `spline_path`."""
    first, last = velocities_mps[0], velocities_mps[-1]
    if kind == "segments":
        return SplinePath(scipy.interpolate.CubicHermiteSpline(knots_s, points_m, velocities_mps))
    if kind == "natural":
        return SplinePath(scipy.interpolate.CubicSpline(knots_s, points_m, bc_type="natural"))
    if kind == "clamped":
        return SplinePath(scipy.interpolate.CubicSpline(knots_s, points_m, bc_type=((1, first), (1, last))))
    ends = [(1, first), (2, np.zeros(3))], [(1, last), (2, np.zeros(3))]
    return from_derivatives(knots_s, scipy.interpolate.make_interp_spline(knots_s, points_m, k=5, bc_type=ends))


def from_derivatives(knots_s: Array, derivative: Callable[[Array, int], Array]) -> SplinePath:
    """The path of degree 5 with these derivatives(times, order) just after each knot but the last."""
    left = knots_s[:-1]
    powers = [derivative(left, order) / math.factorial(order) for order in range(5, -1, -1)]
    return SplinePath(scipy.interpolate.PPoly(np.stack(powers), knots_s))


def _largest_norms(poly: Any) -> Array:
    """max |f(t)| of each piece of a vector polynomial: at an end, or where the derivative of |f|² vanishes."""
    pieces, widths = np.moveaxis(poly.c, 1, 0), np.diff(poly.x)  # (pieces, powers, 3), highest power first
    return np.array([_largest_norm(piece, width) for piece, width in zip(pieces, widths, strict=True)])


def _largest_norm(piece: Array, width: float) -> float:
    square = np.sum([np.convolve(axis, axis) for axis in piece.T], axis=0)
    roots = np.roots(np.polyder(square))
    inside = roots.real[(roots.real > 0) & (roots.real < width)]  # complex ones cost a needless look, and miss nothing
    return float(np.sqrt(np.max(np.polyval(square, np.concatenate([[0.0, width], inside])))))
