"""Which thruster of a vehicle file is which of ArduSub's, and which way round: found from the geometry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.ardusub.mixer import COUNT, FACTORS
from shoal.errors import ShoalError
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
# Body axes X Y Z K M N (FRD) by the mixer's columns; throttle is up, so against Z.
_COLUMNS, _SIGNS = (4, 5, 3, 0, 1, 2), np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0])
_SMALL = 1e-6


@dataclass(frozen=True)
class Layout:
    """ArduSub thruster k (from 0) is our `index[k]`; positive effort pushes by `sign[k]` × its direction."""

    index: NDArray[np.intp]  # (8,)
    sign: Array  # (8,) ±1
    wrench: Array  # (6,8) body wrench of 1 N along each of ArduSub's positive directions

    def to_autopilot(self, force_N: Array) -> Array:
        """Forces (8,) in the vehicle's order and directions → in ArduSub's."""
        return np.asarray(self.sign * force_N[self.index])

    def to_vehicle(self, force_N: Array) -> Array:
        """The way back."""
        found = np.zeros(COUNT)
        found[self.index] = self.sign * force_N
        return found


def layout_of(vehicle: Vehicle) -> Layout:
    """A vehicle with the Heavy's eight thrusters; a ShoalError names the thruster that does not fit."""
    if vehicle.input_count != COUNT or any(t.kind != "fixed" for t in vehicle.thrusters):
        raise ShoalError(
            f"vehicle '{vehicle.name}': {vehicle.input_count} thruster inputs; "
            f"expected {COUNT} fixed thrusters, as ArduSub's frame 2 (vectored 6DOF) has"
        )
    columns = vehicle.input_matrix.T  # (8,6)
    index, sign = [], []
    for number, factors in enumerate(FACTORS, start=1):
        wanted = factors[list(_COLUMNS)] * _SIGNS
        fits = [(j, s) for j, column in enumerate(columns) for s in (1.0, -1.0) if _fits(s * column, wanted)]
        if len(fits) != 1:
            names = ", ".join(vehicle.thrusters[j].name for j, _ in fits) or "none"
            raise ShoalError(
                f"vehicle '{vehicle.name}': thrusters that act as ArduSub's thruster {number}: {names}; expected one"
            )
        index.append(fits[0][0])
        sign.append(fits[0][1])
    signs = np.array(sign)
    return Layout(np.array(index), signs, vehicle.input_matrix[:, index] * signs)


def _fits(column: Array, wanted: Array) -> bool:
    """Forces and levers as the mixer means them; moments it does not mean (thrusters below the origin) are free."""
    meant = wanted != 0
    force = np.array([True] * 3 + [False] * 3)
    return bool(
        np.all(np.abs(column[meant]) > _SMALL)
        and np.array_equal(np.sign(column[meant]), wanted[meant])
        and np.all(np.abs(column[~meant & force]) < _SMALL)
    )
