"""Mass and drag of the model in use, slowly and within bounds, from the force that the model cannot explain.

A vehicle that is heavier than described feels an unexplained force along gravity, one with more drag a force against
its motion through the water. A Kalman filter of two unknowns, weight and drag ratio, reads both from the estimator's
wrench. Its prior lets a gross error through within a second or two; what waves and trim do to it is a few per cent.
Buoyancy is the hull's and stays: a payload that is trimmed out does not show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.vehicles.description import Vehicle
from shoal.vehicles.scale import VehicleScale, scales_with

Array = NDArray[np.float64]
SURPRISE = 3.0  # sigmas


class AdaptationSettings(FileModel):
    """How far the described mass and drag are trusted."""

    enabled: bool = Field(default=True, description="off: mass and drag stay as described")
    every_s: float = Field(default=0.25, gt=0, description="over which the unexplained force is averaged")
    force_N: float = Field(
        default=55.0,
        gt=0,
        description="one sigma of such a mean that is neither weight nor drag: waves, tether, trim",
        json_schema_extra=scales_with("force"),
    )
    weight_share: float = Field(default=0.2, gt=0, description="one sigma of the weight, of it or the buoyancy")
    drag_share: float = Field(default=0.3, gt=0, description="one sigma of the drag ratio")
    wander: float = Field(default=0.01, ge=0, description="growth of both sigmas in a second, as a share")
    apply_weight: float = Field(
        default=0.2,
        gt=0,
        description="first change that is used, of the weight; half of it later on",
    )
    apply_drag: float = Field(default=0.25, gt=0, description="changes of the drag ratio below this stay unused")
    least_mass_ratio: float = Field(default=0.05, gt=0, le=1, description="smallest mass, relative to the description")
    most_mass_ratio: float = Field(default=20.0, ge=1, description="largest mass, relative to the description")
    least_drag_ratio: float = Field(default=0.2, gt=0, le=1, description="smallest drag, relative to the description")
    most_drag_ratio: float = Field(default=5.0, ge=1, description="largest drag, relative to the description")


@dataclass(frozen=True)
class Change:
    """Factors on the model in use, and the force (3, body) that the changed one explains."""

    mass: float
    damping: float
    explained_N: Array


class ModelAdaptation:
    """`see` with each estimate; a `Change` when the model should follow."""

    def __init__(self, vehicle: Vehicle, settings: AdaptationSettings) -> None:
        """`vehicle` as described."""
        self._s, self._weight_N, self._buoyancy_N = settings, vehicle.weight_N, vehicle.buoyancy_N
        self._reference_N = max(vehicle.weight_N, vehicle.buoyancy_N, 1e-6)
        self._linear = np.diag(vehicle.linear_damping)[:3].tolist()
        self._quadratic = np.diag(vehicle.quadratic_damping)[:3].tolist()
        # In shares: weight beyond the described one over the reference, and the drag ratio beyond one.
        self._found, self._used = [0.0, 0.0], [0.0, 0.0]
        self._variance = [settings.weight_share**2, 0.0, settings.drag_share**2]  # of weight, both, drag
        self._limits = (
            ((settings.least_mass_ratio - 1) * self._weight_N / self._reference_N,
             (settings.most_mass_ratio - 1) * self._weight_N / self._reference_N),
            (settings.least_drag_ratio - 1, settings.most_drag_ratio - 1),
        )  # fmt: skip
        self.clear()

    @staticmethod
    def of(vehicle: Vehicle, settings: AdaptationSettings, learns_drag: bool) -> ModelAdaptation:
        """With settings fitted to the vehicle's size; drag may be left as described."""
        fitted = VehicleScale.of(vehicle).fit(settings)
        return ModelAdaptation(vehicle, fitted if learns_drag else fitted.model_copy(update={"apply_drag": math.inf}))

    def clear(self) -> None:
        """The estimate begins anew: what was being averaged is void, what was found stays."""
        self._since_s: float | None = None
        self._sums, self._count = [0.0] * 9, 0
        self._last_N: list[float] | None = None

    @property
    def mass_ratio(self) -> float:
        """Of the mass in use to the described one."""
        return 1 + self._used[0] * self._reference_N / self._weight_N

    @property
    def drag_ratio(self) -> float:
        """The same of the drag."""
        return 1 + self._used[1]

    @property
    def differs(self) -> bool:
        """Whether the model in use is not the described one."""
        return self._used != [0.0, 0.0]

    def see(
        self, t_s: float, down: Sequence[float], through_mps: Sequence[float], force_N: list[float]
    ) -> Change | None:
        """Down (3) and velocity through the water (3) in the body frame, and the unexplained force (3)."""
        if not self._s.enabled:
            return None
        if self._since_s is None or t_s < self._since_s:
            self.clear()
            self._since_s = t_s
        weight = [self._reference_N * d for d in down]
        drag = [-(a + b * abs(v)) * v for a, b, v in zip(self._linear, self._quadratic, through_mps, strict=True)]
        self._sums = [s + x for s, x in zip(self._sums, (*weight, *drag, *force_N), strict=True)]
        self._count += 1
        if t_s - self._since_s < self._s.every_s:
            return None
        mean = [s / self._count for s in self._sums]
        self._since_s, self._sums, self._count = t_s, [0.0] * 9, 0
        self._learn(mean[0:3], mean[3:6], mean[6:9])
        return self._change(weight, drag)

    def _learn(self, weight: list[float], drag: list[float], force_N: list[float]) -> None:
        s = self._s
        last_N, self._last_N = self._last_N, list(force_N)
        p, both, q = self._variance
        grown = s.wander**2 * s.every_s
        p, q = min(p + grown, s.weight_share**2), min(q + grown, s.drag_share**2)
        for axis in range(3):
            a, b = weight[axis], drag[axis]
            off_N = force_N[axis] - a * (self._found[0] - self._used[0]) - b * (self._found[1] - self._used[1])
            noise = s.force_N**2
            before_N = 0.0 if last_N is None else last_N[axis]
            if before_N * force_N[axis] < s.force_N**2:  # not there before: a jump of the odometry pulls for a moment
                noise += (force_N[axis] - before_N) ** 2
            pa, pb = p * a + both * b, both * a + q * b
            spread = a * pa + b * pb + noise
            if off_N**2 > SURPRISE**2 * spread:  # a gross error, or another load: what was found before is void
                p, both, q = s.weight_share**2, 0.0, s.drag_share**2
                pa, pb = p * a, q * b
                spread = a * pa + b * pb + noise
            self._found[0] += pa / spread * off_N
            self._found[1] += pb / spread * off_N
            p, both, q = p - pa * pa / spread, both - pa * pb / spread, q - pb * pb / spread
        self._variance = [p, both, q]
        self._found = [min(max(x, low), high) for x, (low, high) in zip(self._found, self._limits, strict=True)]

    def _change(self, weight: list[float], drag: list[float]) -> Change | None:
        s, before = self._s, (self.mass_ratio, self.drag_ratio)
        by = [f - u for f, u in zip(self._found, self._used, strict=True)]
        in_use = max(self._weight_N * before[0], self._buoyancy_N) / self._reference_N
        # Waves look like a tenth of the weight for a while: a described mass is given up for more than that only.
        if abs(by[0]) < s.apply_weight * in_use * (1.0 if self._used[0] == 0.0 else 0.5):
            by[0] = 0.0
        if abs(by[1]) < s.apply_drag:
            by[1] = 0.0
        if by == [0.0, 0.0]:
            return None
        self._used = [u + b for u, b in zip(self._used, by, strict=True)]
        explained_N = np.array([a * by[0] + b * by[1] for a, b in zip(weight, drag, strict=True)])
        self._last_N = None if self._last_N is None else (np.array(self._last_N) - explained_N).tolist()
        return Change(self.mass_ratio / before[0], self.drag_ratio / before[1], explained_N)


def down_of(attitude: Sequence[float]) -> tuple[float, float, float]:
    """Down (3), seen from a vehicle with this quaternion (w, x, y, z)."""
    w, x, y, z = attitude
    return 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
