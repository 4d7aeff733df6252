"""Ng 2024's mixers, for comparison with the allocation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.benchmarks.allocation import run
from shoal.vehicles.curves import load_table
from shoal.vehicles.mixers import device_matrix, heuristic, largest_wrench, produced, quantitative
from vehicles_for_tests import shipped

VEHICLE, CURVE = shipped("von_benzon2022"), load_table("t200").at(16.0)
# Ng 2024 (3.4): its printed T, from which the signs (B.1) are taken.
PRINTED_T = [
    [-0.707, -0.707, 0.707, 0.707, 0, 0, 0, 0],
    [0.707, -0.707, 0.707, -0.707, 0, 0, 0, 0],
    [0, 0, 0, 0, 1, 1, 1, 1],
    [-0.060, 0.060, -0.060, 0.060, 0.218, -0.218, 0.218, -0.218],
    [-0.060, -0.060, 0.060, 0.060, -0.120, -0.120, 0.120, 0.120],
    [0.189, -0.189, -0.189, 0.189, 0, 0, 0, 0],
]
PRINTED_T_PLUS = [  # (3.6)
    [-0.354, 0.354, 0, 0, 0, 1.324],
    [-0.354, -0.354, 0, 0, 0, -1.324],
    [0.354, 0.354, 0, 0, 0, -1.324],
    [0.354, -0.354, 0, 0, 0, 1.324],
    [0.177, 0.097, 0.250, 1.147, -2.083, 0],
    [0.177, -0.097, 0.250, -1.147, -2.083, 0],
    [-0.177, 0.097, 0.250, 1.147, 2.083, 0],
    [-0.177, -0.097, 0.250, -1.147, 2.083, 0],
]


def test_devices_push_as_printed() -> None:
    matrix = device_matrix(VEHICLE)  # the geometry is that of every set
    np.testing.assert_allclose(matrix, PRINTED_T, atol=1e-3)
    np.testing.assert_allclose(np.linalg.pinv(matrix), PRINTED_T_PLUS, atol=1e-3)
    np.testing.assert_allclose(matrix @ np.linalg.pinv(matrix), np.eye(6), atol=1e-12)


def test_largest_wrench_is_the_published_one() -> None:
    """With the thesis's 49.95 and 40.08 N."""
    ng = replace(
        VEHICLE, thrusters=tuple(
            replace(t, max_forward_N=own.max_forward_N, max_reverse_N=own.max_reverse_N)
            for t, own in zip(VEHICLE.thrusters, shipped("ng2024").thrusters, strict=True)
        ),
    )  # fmt: skip
    np.testing.assert_allclose(largest_wrench(ng), [127.32, 127.32, 199.81, 39.25, 21.61, 34.00], rtol=1e-3)


def test_heuristic_mixes_as_ardusub_does() -> None:
    surge = heuristic(VEHICLE, np.array([0.5, 0, 0, 0, 0, 0]))
    assert surge.tolist() == [1300, 1300, 1700, 1700, 1500, 1500, 1500, 1500]
    both = heuristic(VEHICLE, np.array([1.0, 0, 0, 0, 0, 1.0]))  # 2 on two of them: halved
    assert both.tolist() == [1500, 1100, 1500, 1900, 1500, 1500, 1500, 1500]
    down = heuristic(VEHICLE, np.array([0, 0, 0.25, 0, 0.5, 0]))
    assert down.tolist() == [1500] * 4 + [1400, 1400, 1800, 1800]


def test_pseudo_inverse_gives_the_wrench_it_can() -> None:
    largest = largest_wrench(VEHICLE)
    for axis in range(6):
        wanted = 0.3 * np.eye(6)[axis]
        got = produced(VEHICLE, quantitative(VEHICLE, wanted, largest, CURVE), CURVE)
        np.testing.assert_allclose(got, wanted * largest, atol=0.4)


def test_table_of_mixers() -> None:
    """The order, and the goals of the bounded least squares."""
    values = {row.label: row.value for row in run(quick=True).rows}
    ways = ("heuristic (Ng alg. 1)", "pseudo-inverse (Ng alg. 2)", "least squares, equal", "least squares, attitude")
    torque = [values[f"U(±60%) {way}: torque error, 95 %"] for way in ways]
    assert torque[0] > torque[1] > torque[2] > torque[3]
    assert torque[3] <= 1.0
    for way in ways[1:]:
        assert values[f"U(±30%) {way}: median force error"] <= 1.0
    assert values[f"U(±5%) {ways[0]}: median force error"] > 50.0
    assert values[f"U(±60%) {ways[3]}: median force error"] == pytest.approx(0.2, abs=0.3)
