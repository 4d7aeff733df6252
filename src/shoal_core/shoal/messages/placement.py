"""A formation once its places are assigned: who has which place, and who must see whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.messages.preview import Preview

Array = NDArray[np.float64]
Schedule = tuple[tuple[float, float], ...]  # (t_s, radius_m), straight between, constant outside
NamePairs = tuple[tuple[str, str], ...]
Radius = float | Schedule | Callable[[float], float]


@dataclass(frozen=True)
class FormationMotion:
    """How the formation turns and breathes along a preview: the same for all of its vehicles."""

    yaw_rad: Array  # (K,)
    yaw_rate_radps: Array  # (K,)
    radius_m: Array  # (K,)
    radius_rate_mps: Array  # (K,)
    rigid: bool = False  # neither turns nor breathes


@dataclass(frozen=True)
class Placement:
    """Each vehicle's offset in the formation's frame: at the common point, turned by the formation's yaw."""

    offsets: Mapping[str, Array]  # (3,) each; multiplied by the radius
    radius_m: Radius  # 1 where the offsets are metres already
    headings_rad: Mapping[str, float] | None  # relative to the formation's yaw; None: the controller chooses
    yaw_rad: float  # of the formation while the common point's preview has no heading
    order: tuple[str, ...]  # names around the middle, or along the line: what a topology should follow
    sight: NamePairs = ()  # (a, b): a must keep b in sight

    def must_see(self, vehicle: str) -> frozenset[str]:
        """Whom the vehicle must keep in sight."""
        return frozenset(seen for seer, seen in self.sight if seer == vehicle)

    def setpoint(self, vehicle: str, preview: Preview, motion: FormationMotion | None = None) -> Preview:
        """The vehicle's own setpoint, given the common point's; that one's heading is the formation's yaw.

        Whoever asks for many vehicles hands in `motion(preview)`, which is most of the work.
        """
        if vehicle not in self.offsets:
            raise ShoalError(f"formation: '{vehicle}' has no place; expected one of: {', '.join(self.offsets)}")
        s = self.motion(preview) if motion is None else motion
        headings = None if self.headings_rad is None else s.yaw_rad + self.headings_rad[vehicle]
        x, y, z = self.offsets[vehicle]
        if s.rigid:
            cosine, sine = math.cos(s.yaw_rad[0]), math.sin(s.yaw_rad[0])
            fixed = np.array([cosine * x - sine * y, sine * x + cosine * y, z]) * s.radius_m[0]
            return Preview(preview.times_s, preview.positions_m + fixed, preview.velocities_mps, headings)
        c, n = np.cos(s.yaw_rad), np.sin(s.yaw_rad)
        direction = np.empty((len(c), 3))
        direction[:, 0], direction[:, 1], direction[:, 2] = c * x - n * y, n * x + c * y, z
        arm = direction * s.radius_m[:, None]
        velocity = preview.velocities_mps + direction * s.radius_rate_mps[:, None]
        velocity[:, 0] -= s.yaw_rate_radps * arm[:, 1]
        velocity[:, 1] += s.yaw_rate_radps * arm[:, 0]
        return Preview(preview.times_s, preview.positions_m + arm, velocity, headings)

    def motion(self, preview: Preview) -> FormationMotion:
        """For `setpoint`."""
        yaw, yaw_rate = self._yaw(preview)
        radius, radius_rate = radius_at(self.radius_m, preview.times_s)
        rigid = isinstance(self.radius_m, int | float) and not yaw_rate.any()
        return FormationMotion(yaw, yaw_rate, radius, radius_rate, rigid)

    def _yaw(self, preview: Preview) -> tuple[Array, Array]:
        """Yaw and its rate (K,); the rate by differences, so a preview of one point cannot tell it and gets 0."""
        if preview.headings_rad is None:
            return np.full(len(preview.times_s), self.yaw_rad), np.zeros(len(preview.times_s))
        yaw = preview.headings_rad
        if len(yaw) < 2 or (yaw == yaw[0]).all():  # most formations do not turn
            return yaw, np.zeros(len(yaw))
        yaw = np.unwrap(yaw)
        return yaw, np.gradient(yaw, preview.times_s, edge_order=2 if len(yaw) > 2 else 1)


def turned(vectors_m: Array, yaw_rad: Array | float) -> Array:
    """Vectors (K,3) turned about the vertical."""
    c, s = np.cos(yaw_rad), np.sin(yaw_rad)
    x, y, z = vectors_m.T
    return np.stack([c * x - s * y, s * x + c * y, z], axis=1)


def radius_at(radius_m: Radius, times_s: Array) -> tuple[Array, Array]:
    """Radius and its rate (K,); at a bend of a schedule the rate that follows."""
    if callable(radius_m):
        step_s = 1e-3
        before, now, after = (np.array([radius_m(float(t + d)) for t in times_s]) for d in (-step_s, 0.0, step_s))
        return now, (after - before) / (2 * step_s)
    if isinstance(radius_m, tuple):
        knots_s, radii_m = np.array(radius_m, dtype=float).T
        slopes = np.concatenate([[0.0], np.diff(radii_m) / np.diff(knots_s), [0.0]])
        return np.interp(times_s, knots_s, radii_m), slopes[np.searchsorted(knots_s, times_s, side="right")]
    return np.full(len(times_s), float(radius_m)), np.zeros(len(times_s))
