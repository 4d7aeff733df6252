"""The simple pendulum in the classical forms (Nielsen 2018, ch. 3): all give the same acceleration.

c = x² + y² − l² (3.7), y down. What is worked out by hand here judges the formula that the constraint engine uses.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

Array = NDArray[np.float64]
G, MASS = 9.81, 1.7


def newton(place: Array, velocity: Array) -> Array:
    """Tension along the string, from the radial balance."""
    length = np.hypot(*place)
    inward = -place / length
    tension_N = MASS * (velocity @ velocity) / length + MASS * G * place[1] / length
    return np.array([0.0, G]) + tension_N / MASS * inward


def lagrange_second(place: Array, velocity: Array) -> Array:
    """θ̈ = −(g/l) sin θ in the generalised coordinate, turned back to x and y."""
    length, theta = np.hypot(*place), np.arctan2(place[0], place[1])
    along, outward = np.array([np.cos(theta), -np.sin(theta)]), np.array([np.sin(theta), np.cos(theta)])
    rate = velocity @ along / length
    return length * (-G / length * np.sin(theta)) * along - length * rate**2 * outward


def lagrange_first(place: Array, velocity: Array, copies: int = 1) -> Array:
    """Multipliers from the KKT system (3.22)."""
    phi, b = rows(place, velocity, copies)
    kkt = np.block([[MASS * np.eye(2), phi.T], [phi, np.zeros((copies, copies))]])
    return np.linalg.solve(kkt, np.concatenate([[0.0, MASS * G], b]))[:2]


def maggi(place: Array, velocity: Array) -> Array:
    """Projected on the null space of the constraint (3.29–3.36)."""
    phi, b = rows(place, velocity, 1)
    tangent = np.array([[place[1]], [-place[0]]])
    particular = np.linalg.pinv(phi) @ b
    free = tangent.T @ (np.array([0.0, G]) - particular) / (tangent.T @ tangent)
    return particular + (tangent @ free).ravel()


def gauss(place: Array, velocity: Array) -> Array:
    """The admissible acceleration closest to the free one: a minimum over the tangent, found by a line of points."""
    phi, b = rows(place, velocity, 1)
    base, tangent = np.linalg.pinv(phi) @ b, np.array([place[1], -place[0]]) / np.hypot(*place)

    def constraint_measure(s: float) -> float:
        away = base + s * tangent - [0.0, G]
        return float(MASS * away @ away)

    left, middle, right = (constraint_measure(s) for s in (-1.0, 0.0, 1.0))  # a parabola: three points are enough
    return base + 0.5 * (left - right) / (left - 2 * middle + right) * tangent


def udwadia_kalaba(place: Array, velocity: Array, copies: int = 1) -> Array:
    """(3.55)."""
    phi, b = rows(place, velocity, copies)
    free, root = np.array([0.0, G]), 1 / np.sqrt(MASS)
    return free + root * np.linalg.pinv(phi * root, rcond=1e-10) @ (b - phi @ free)


def rows(place: Array, velocity: Array, copies: int) -> tuple[Array, Array]:
    """x ẍ + y ÿ = −ẋ² − ẏ² (3.16), once or several times."""
    return np.tile(place, (copies, 1)), np.full(copies, -(velocity @ velocity))


@pytest.mark.parametrize("form", [lagrange_second, lagrange_first, maggi, gauss, udwadia_kalaba])
def test_all_forms_agree(form) -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        theta, rate, length = rng.uniform(-3, 3), rng.normal() * 3, rng.uniform(0.2, 3)
        place = length * np.array([np.sin(theta), np.cos(theta)])
        velocity = length * rate * np.array([np.cos(theta), -np.sin(theta)])
        assert form(place, velocity) == pytest.approx(newton(place, velocity), rel=1e-12, abs=1e-12 * G)


def test_a_repeated_row_stops_the_multipliers_and_not_udwadia_kalaba() -> None:
    place, velocity = np.array([0.6, 0.8]), np.array([0.8, -0.6])
    with pytest.raises(np.linalg.LinAlgError):
        lagrange_first(place, velocity, copies=2)
    assert udwadia_kalaba(place, velocity, 2) == pytest.approx(newton(place, velocity), rel=1e-12)


def test_the_lowest_point() -> None:
    assert udwadia_kalaba(np.array([0.0, 2.0]), np.array([3.0, 0.0])) == pytest.approx([0, -4.5])


def test_quaternion_coordinates_have_a_singular_inertia() -> None:
    """Why the engine works in body velocities: Hᵀ I H (3.26) has rank 3."""
    q = np.array([0.5, 0.5, -0.5, 0.5])
    h = np.column_stack([-q[1:], q[0] * np.eye(3) - np.array([[0, -q[3], q[2]], [q[3], 0, -q[1]], [-q[2], q[1], 0]])])
    assert np.linalg.matrix_rank(h.T @ np.diag([0.3, 0.4, 0.5]) @ h) == 3
