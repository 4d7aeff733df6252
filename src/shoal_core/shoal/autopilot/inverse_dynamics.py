"""The wrench that gives held axes the acceleration they need, whatever the pilot does on the others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.autopilot.attitude import FEEDBACK, attitude_error, body_from_euler_rates, euler_angles
from shoal.autopilot.reference import Reference, level_frame
from shoal.codegen import Buffered
from shoal.frames import from_euler, matrix
from shoal.messages.state import ATTITUDE, POSITION, RATE, TWIST, VELOCITY
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import ode_function
from shoal.vehicles.parameters import mass_matrix, parameter_vector, structure_of

Array = NDArray[np.float64]
STEEP = 0.5  # cosine of the tilt, below which forces are laid along the body's axes
POSITION_FEEDBACK = 1.25  # over the filter's bandwidth: at 1.75 thrust follows the noise twice as much
UPRIGHT = 0.6  # … and above which along a level vehicle's again


class InverseDynamics:
    """M ν̇ = τ + f₀: ν̇ is wanted along held axes, τ given along the others; solved for the rest of τ.

    Surge, sway and heave are held along a level vehicle's axes, rotations about the body's.
    """

    def __init__(self, vehicle: Vehicle, omega_radps: Array) -> None:
        """`omega_radps` (6,): of the reference filter in front of it."""
        self._omega = np.repeat([POSITION_FEEDBACK, FEEDBACK], 3) * omega_radps
        self.steep = False
        structure = structure_of(vehicle)
        self._ode = Buffered(ode_function(structure))
        self._ode.inputs[4][:] = parameter_vector(vehicle, structure)
        # Directional heave: added mass by the sign of the acceleration (Ng 2024, 2.28).
        self._sinking = mass_matrix(vehicle, vehicle.heave_dive)
        self._rising = mass_matrix(vehicle, vehicle.heave_rise)

    def tilted(self, state: Array) -> bool:
        """What `steep` ought to be; whoever changes it sees to the jump."""
        return bool(matrix(state[ATTITUDE])[2, 2] < (UPRIGHT if self.steep else STEEP))

    def wrench(
        self, state: Array, reference: Reference, held: Array, efforts: Array, disturbance: Array, current_mps: Array
    ) -> Array:
        """(6,) body. `held` (6,) bool; `efforts` (6,) N and N m along the others; `disturbance` (6,) body."""
        r, angles = matrix(state[ATTITUDE]), euler_angles(state[ATTITUDE])
        to_body = body_from_euler_rates(angles)
        flat = level_frame(float(angles[2]))
        wanted, rows = self._wanted(state, reference, r, to_body, flat)
        alone = self._alone(state, reference, r, to_body, disturbance, current_mps)  # acceleration without thrust
        heave_up = wanted[2] < 0
        mass = self._rising if heave_up else self._sinking
        free = (self._rising if alone[2] < 0 else self._sinking) @ alone  # f₀
        tau = np.where(held, 0.0, efforts)
        if not held.any():
            return tau
        inverse = np.linalg.inv(mass)
        needed = wanted[held] - rows[held] @ inverse @ (free + tau)
        tau[held] = np.linalg.solve(rows[held] @ inverse[:, held], needed)
        return tau

    def _wanted(self, state: Array, reference: Reference, r: Array, to_body: Array, flat: Array) -> tuple[Array, Array]:
        """Accelerations (6,), and the rows (6,6) of ν̇ that they are of."""
        w, value, rate, acceleration = self._omega, reference.value, reference.rate, reference.acceleration
        velocity = r @ state[VELOCITY]
        push = acceleration[:3] + 2 * w[:3] * (rate[:3] - velocity) + w[:3] ** 2 * (value[:3] - state[POSITION])
        error = attitude_error(state[ATTITUDE], value[3:])
        turn = to_body @ acceleration[3:] + 2 * w[3:] * (to_body @ rate[3:] - state[RATE]) + w[3:] ** 2 * error
        axes = r if self.steep else flat
        rows = np.eye(6)
        rows[:3, :3] = axes.T @ r
        swing = np.cross(state[RATE], state[VELOCITY])  # d/dt (R v) = R (v̇ + ω × v)
        return np.concatenate([axes.T @ (push - r @ swing), turn]), rows

    def _alone(
        self, state: Array, reference: Reference, r: Array, to_body: Array, disturbance: Array, current_mps: Array
    ) -> Array:
        """(6,) at the wanted motion and attitude: drag and restoring forces that will be needed, not those that are."""
        x, value, rate = self._ode.inputs[0], reference.value, reference.rate
        x[:] = state
        flow_mps = r.T @ current_mps
        if abs(math.cos(float(value[4]))) > STEEP:
            x[ATTITUDE] = from_euler(*value[3:].tolist())
        x[VELOCITY], x[RATE] = r.T @ rate[:3], to_body @ rate[3:]
        self._ode.inputs[1][:] = 0.0
        # Water meets the body as it lies, not as it is wanted: Munk's moment tilts a hull on in a flow, and from about
        # 1 m/s outweighs the feedback.
        self._ode.inputs[2][:], self._ode.inputs[3][:] = matrix(x[ATTITUDE]) @ flow_mps, disturbance
        self._ode.call()
        return self._ode.outputs[0][TWIST].copy()
