"""The thrust that a reference's own motion needs, and that the optimisation then gives without being pulled off it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.assembly.file import load_assembly
from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.nmpc import Goal, Nmpc, Others
from shoal.control.settings import NmpcSettings
from shoal.control.steady_thrust import SteadyThrust, ThrustAlong, accelerations
from shoal.frames import from_yaw, matrix
from shoal.messages.state import POSITION, State
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import ode_function
from shoal.vehicles.parameters import parameter_vector, structure_of

Array = NDArray[np.float64]
RADIUS_M, RATE_RADPS = 0.25, 0.5  # the end of the spiral of Fosso 2023
CURRENT = np.array([0.05, -0.03, 0.0])


def pair() -> Vehicle:
    return load_assembly("pair").composite().vehicle


def turning(t_s: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration (K,3) on that circle, around the origin and 5 m down."""
    unit = np.stack([np.cos(RATE_RADPS * t_s), np.sin(RATE_RADPS * t_s), 0 * t_s], axis=1)
    ahead = np.stack([-unit[:, 1], unit[:, 0], 0 * t_s], axis=1)
    centre = np.array([0.0, 0.0, 5.0])
    return centre + RADIUS_M * unit, RADIUS_M * RATE_RADPS * ahead, -RADIUS_M * RATE_RADPS**2 * unit


def test_each_point_gets_the_thrust_that_accelerates_as_wanted() -> None:
    vehicle, yaw, wrench = pair(), 0.7, np.array([3.0, -2.0, 1.0, 0.1, -0.2, 0.3])
    structure = structure_of(vehicle)
    ode, theta = ode_function(structure), parameter_vector(vehicle, structure)
    _, velocity, wanted = turning(np.arange(4.0))
    attitudes = from_yaw(np.full(4, yaw))
    thrusts = ThrustAlong(vehicle, 4)(velocity, wanted, attitudes, wrench, CURRENT)
    for k in range(4):
        state = np.concatenate([[0, 0, 5.0], attitudes[k], matrix(attitudes[k]).T @ velocity[k], np.zeros(3)])
        twist = np.array(ode(state, thrusts[k], CURRENT, wrench, theta)).ravel()[7:]
        assert matrix(attitudes[k]) @ twist[:3] == pytest.approx(wanted[k], abs=1e-9)
        assert twist[3:] == pytest.approx(np.zeros(3), abs=1e-9)
    still = ThrustAlong(vehicle, 4)(velocity, 0 * wanted, attitudes, wrench, CURRENT)
    assert still[2] == pytest.approx(SteadyThrust(vehicle)(velocity[2], yaw, wrench, CURRENT), abs=1e-9)


def test_a_jump_of_velocity_is_no_acceleration() -> None:
    speeds = np.array([0.0, 0.01, 0.02, 0.2, 0.2, 0.0])
    found = accelerations(np.stack([speeds, 0 * speeds, 0 * speeds], axis=1), np.full(5, 0.1))
    assert found[:, 0] == pytest.approx([0.1, 0.1, 0.0, 0.0, 0.0])


def test_the_optimisation_stays_on_a_narrow_turn() -> None:
    """Its plan, from the reference's own state: without its acceleration it cuts the corner by some millimetres."""
    vehicle = pair()
    nmpc = Nmpc(vehicle, NmpcSettings(), 1, choose_backend("auto"))
    t = nmpc.times_s
    position, velocity, wanted = turning(t)
    state = State.at_rest(tuple(position[0]), 0.0).array
    state[7:10] = velocity[0]
    goal, alone = Goal(position, velocity, np.zeros(len(t))), Others.none(1, len(t))
    off_m = {}
    for name, pace in (("with", wanted[:-1]), ("without", 0 * wanted[:-1])):
        level = np.tile([1.0, 0, 0, 0], (len(t) - 1, 1))
        free_N = ThrustAlong(vehicle, len(t) - 1)(velocity[:-1], pace, level, np.zeros(6), np.zeros(3))
        nmpc.needs_cold_start = True
        for _ in range(6):
            solution = nmpc.solve(state, free_N[0], goal, alone, np.zeros(6), np.zeros(3), 0.0, free_N)
        off_m[name] = np.linalg.norm(solution.states[:, POSITION] - position, axis=1).max()
    assert off_m["with"] < 0.0005 < 0.0015 < off_m["without"]
