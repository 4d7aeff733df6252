"""A fit in the quantities an engineer asks for: masses, drag at a speed, timing, each with its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.identification.fit import Fit
from shoal.identification.unknowns import apply_all
from shoal.vehicles.description import AXES, Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
SPEEDS_MPS = (0.3, 0.5, 1.0)
SHOWN = (0, 1, 2, 5)  # surge, sway, heave, yaw


@dataclass(frozen=True)
class Row:
    """One quantity before and after."""

    name: str
    unit: str
    prior: float
    value: float
    sigma: float
    gradient: Array = field(compare=False, repr=False)  # (P,) by the unknowns

    @property
    def interval(self) -> tuple[float, float]:
        """95 %."""
        return self.value - 1.96 * self.sigma, self.value + 1.96 * self.sigma


def summarise_fit(found: Fit, prior: Vehicle) -> list[Row]:
    """Masses with added mass, drag at several speeds, then the unknowns that are not the vehicle's own."""
    rows = []
    for i in SHOWN:
        unit = "kg" if i < 3 else "kg m²"
        rows.append(_row(f"{AXES[i]} mass with added mass", unit, found, prior, _mass(i)))
    for i in SHOWN:
        for speed in SPEEDS_MPS:
            units = ("N", "m/s") if i < 3 else ("N m", "rad/s")
            rows.append(_row(f"{AXES[i]} drag at {speed:g} {units[1]}", units[0], found, prior, _drag(i, speed)))
    own = [u.name for u in found.unknowns if u.apply is None or u.name in ("net weight", "righting arm")]
    for name in own:
        value, sigma = found.value(name)
        i = [u.name for u in found.unknowns].index(name)
        unknown = found.unknowns[i]
        rows.append(Row(name, unknown.unit, unknown.prior, value, sigma, np.eye(len(found.values))[i]))
    return rows


def _row(name: str, unit: str, found: Fit, prior: Vehicle, quantity: Callable[[Vehicle], float]) -> Row:
    """The interval of any function of the unknowns, by its gradient."""
    unknowns, gradient = list(found.unknowns), np.zeros(len(found.values))
    for i, unknown in enumerate(unknowns):
        if unknown.apply is None:
            continue
        off = 1e-4 * unknown.sigma
        ends = []
        for sign in (1, -1):
            changed = found.values.copy()
            changed[i] += sign * off
            ends.append(quantity(apply_all(prior, unknowns, changed)))
        gradient[i] = (ends[0] - ends[1]) / (2 * off)
    sigma = float(np.sqrt(gradient @ found.covariance @ gradient))
    return Row(name, unit, quantity(prior), quantity(found.vehicle), sigma, gradient)


def _mass(axis: int) -> Callable[[Vehicle], float]:
    return lambda vehicle: float(mass_matrix(vehicle)[axis, axis])


def _drag(axis: int, speed: float) -> Callable[[Vehicle], float]:
    def drag(vehicle: Vehicle) -> float:
        return float(vehicle.linear_damping[axis, axis] * speed + vehicle.quadratic_damping[axis, axis] * speed**2)

    return drag
