"""How a vehicle moves on without thrust, by its model."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca

from shoal.codegen import compiled
from shoal.messages.state import TWIST
from shoal.vehicles.dynamics import Dynamics
from shoal.vehicles.parameters import Structure


@lru_cache(maxsize=8)
def coasting(structure: Structure) -> ca.Function:
    """(x, current, theta) → (6,), the acceleration without thrust."""
    dynamics = Dynamics(structure)
    x, current, theta = ca.SX.sym("x", 13), ca.SX.sym("current", 3), ca.SX.sym("theta", structure.length)
    x_dot = dynamics.quaternion_ode(structure.split(theta), x, ca.SX.zeros(6), current)
    return compiled(ca.Function("acceleration", [x, current, theta], [ca.densify(x_dot[TWIST])]))
