"""Overdrive: by its definition on wrenches, and what is predicted with it."""

from __future__ import annotations

import numpy as np

from shoal.fleet.overdrive import Leads, Overdrive, with_rotation
from shoal.frames import from_yaw, matrix
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.vehicles.description import load_vehicle

VEHICLE = load_vehicle("bluerov2_heavy", "wu2018")


def test_forces_and_moments_are_overdriven_by_their_own_factors() -> None:
    rng = np.random.default_rng(0)
    matrix_b, leads = VEHICLE.input_matrix, Leads.of(0.15, 2.0, 1.25)
    for _ in range(20):
        acting, wanted = rng.normal(size=(2, 8))
        done = matrix_b @ (Overdrive(VEHICLE).command(acting, wanted, leads) - acting)
        change = matrix_b @ (wanted - acting)
        assert np.allclose(done, np.repeat([2.0, 1.25], 3) * change)


def test_moments_are_never_overdriven_more_than_forces() -> None:
    assert Leads.of(0.2, 2.0, 4.0) == Leads(2.0, 2.0, 0.1, 0.1)
    assert Leads.of(0.2, 2.0, 1.0) == Leads(2.0, 1.0, 0.1, 0.2)


def test_a_state_turned_further_keeps_its_way_through_the_world() -> None:
    moved, turned = np.zeros(13), np.zeros(13)
    moved[POSITION], moved[ATTITUDE], moved[VELOCITY] = (1, 2, 3), from_yaw(np.array([0.2]))[0], (0.5, 0.1, -0.2)
    turned[POSITION], turned[ATTITUDE], turned[RATE] = (9, 9, 9), from_yaw(np.array([0.5]))[0], (0.1, 0.2, 0.3)
    both = with_rotation(moved, turned)
    assert np.array_equal(both[:7], np.concatenate([moved[POSITION], turned[ATTITUDE]]))
    assert np.array_equal(both[10:], turned[10:])
    assert np.allclose(matrix(both[ATTITUDE]) @ both[VELOCITY], matrix(moved[ATTITUDE]) @ moved[VELOCITY])
