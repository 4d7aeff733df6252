"""Long fixed-step trajectories of the symbolic dynamics, for tests that look at the motion and not at one instant."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.vehicles.description import Vehicle
from shoal.vehicles.dynamics import normalised, rk4
from shoal.vehicles.functions import ode_function
from shoal.vehicles.parameters import parameter_vector, structure_of

Array = NDArray[np.float64]


def trajectory(
    vehicle: Vehicle,
    start: Array,
    thrusts: Array,
    dt_s: float,
    steps_per_thrust: int,
    current: Array | None = None,
    wrench: Array | None = None,
    form: str = "quaternion",
) -> Array:
    """States (K+1,n) after each of the K thrusts (K,8), held for `steps_per_thrust` RK4 steps."""
    ode = ode_function(structure_of(vehicle), form)
    x, u = ca.SX.sym("x", ode.size1_in(0)), ca.SX.sym("u", ode.size1_in(1))
    fixed = [
        np.zeros(3) if current is None else current,
        np.zeros(6) if wrench is None else wrench,
        parameter_vector(vehicle, structure_of(vehicle)),
    ]
    following = rk4(lambda y: ode(y, u, *fixed), x, dt_s)
    step = ca.Function("step", [x, u], [normalised(following) if form == "quaternion" else following])
    held = np.repeat(thrusts, steps_per_thrust, axis=0)
    states = np.array(step.mapaccum(len(held))(start, held.T)).T
    return np.vstack([start, states[steps_per_thrust - 1 :: steps_per_thrust]])
