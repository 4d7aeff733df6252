"""What is believed of drag can be integrated with the steps that controllers take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.vehicles.description import Vehicle, load_vehicle
from shoal.vehicles.functions import VehicleModel
from shoal.vehicles.stiffness import FASTEST, resolvable

Array = NDArray[np.float64]


def rk4(f: Callable[[Array], Array], x: Array, h: float) -> Array:
    k1 = f(x)
    k2 = f(x + h / 2 * k1)
    k3 = f(x + h / 2 * k2)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + h * k3))


def coasts(vehicle: Vehicle, step_s: float) -> bool:
    """Whether every axis slows down when let go at its fastest, by RK4 steps of that length."""
    model = VehicleModel(vehicle)
    trim = model.trim()
    for axis in range(6):
        x = np.zeros(13)
        x[3], x[7 + axis] = 1.0, FASTEST[axis]
        for _ in range(10):
            x = rk4(lambda y: model.derivative(y, trim), x, step_s)
            if not np.all(np.isfinite(x)) or abs(x[7 + axis]) > FASTEST[axis]:
                return False
    return True


@pytest.mark.parametrize("name", ["wu2018", "ng2024", "von_benzon2022"])
@pytest.mark.parametrize("damping", [1.0, 4.0, 20.0])
def test_drag_is_limited_to_what_a_step_resolves(name: str, damping: float) -> None:
    assert coasts(resolvable(load_vehicle("bluerov2_heavy", name).scaled(damping=damping)), 0.1)


def test_without_the_limit_it_is_not() -> None:
    assert not coasts(load_vehicle("bluerov2_heavy", "wu2018").scaled(damping=4.0), 0.1)


def test_what_can_be_resolved_is_left_alone() -> None:
    vehicle = load_vehicle("bluerov2_heavy", "wu2018")
    assert resolvable(vehicle) is vehicle
    assert resolvable(vehicle.scaled(damping=4.0), 0.01).quadratic_damping[3, 3] == pytest.approx(4 * 1.55)
