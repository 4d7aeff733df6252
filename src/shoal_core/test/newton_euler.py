"""An independent vehicle, in plain numpy, to hold the generated one against.

Nothing here comes from the code under test, and no mass or Coriolis matrix is written down. The rigid body is Newton's
law for the centre of gravity and Euler's for the rotation about it, with *absolute* velocities. The water is
Kirchhoff's: an energy of the *relative* velocity, whose momentum changes in the turning body frame. The accelerations
are those for which forces balance; as the balance is linear in them, they are found by probing it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from shoal.messages.state import RATE, TWIST, VELOCITY
from shoal.vehicles.description import Heave, Vehicle

Array = NDArray[np.float64]


def state_derivative(
    vehicle: Vehicle, x: Array, thrust: Array, current_ned: Array, wrench: Array, surface: bool = False
) -> Array:
    """ẋ of the 13-state [p q v w]; `surface`: the water ends at depth 0."""
    eta, eps, v, w = x[3], x[4:7], x[VELOCITY], x[RATE]
    attitude = Rotation.from_quat([*eps, eta])
    q_dot = 0.5 * np.array([-eps @ w, *(eta * w + cross(eps, w))])
    to_ned = attitude.as_matrix()
    wrench = wrench + static_wrench(vehicle, to_ned, x[2], surface)
    acceleration = body_acceleration(vehicle, to_ned, v, w, thrust, current_ned, wrench)
    return np.concatenate([attitude.apply(v), q_dot, acceleration])


def body_acceleration(
    vehicle: Vehicle, to_ned: Array, v: Array, w: Array, thrust: Array, current_ned: Array, wrench: Array
) -> Array:
    """[v̇ ẇ] in the body frame; `wrench` is all but thrusters and moving water."""
    water = to_ned.T @ current_ned
    applied = wrench + thruster_wrench(vehicle, thrust)

    def solved(heave: Heave | None) -> Array:
        loads = applied - drag(vehicle, v - water, w)

        def imbalance(acceleration: Array) -> Array:
            a, alpha = acceleration[:3], acceleration[3:]
            return rigid_body(vehicle, v, w, a, alpha) - loads - fluid(vehicle, heave, v, w, water, a, alpha)

        return solve_affine(imbalance)

    if vehicle.heave_dive is None:
        return solved(None)
    for heave, sign in ((vehicle.heave_dive, 1.0), (vehicle.heave_rise, -1.0)):
        answer = solved(heave)
        relative = answer[2] + cross(w, water)[2]  # ẇ of the relative velocity: the current turns in the body frame
        if relative * sign >= 0:
            return answer
    raise AssertionError("neither heave coefficient agrees with the acceleration that it causes")


def rigid_body(vehicle: Vehicle, v: Array, w: Array, a: Array, alpha: Array) -> Array:
    """Force and moment about the origin that this acceleration takes."""
    m, r = vehicle.mass_kg, vehicle.cg_m
    cg_acceleration = a + cross(w, v) + cross(alpha, r) + cross(w, cross(w, r))
    force = m * cg_acceleration
    about_cg = vehicle.inertia_kgm2 - m * (r @ r * np.eye(3) - np.outer(r, r))  # Steiner
    moment_cg = about_cg @ alpha + cross(w, about_cg @ w)
    return np.concatenate([force, moment_cg + cross(r, force)])


def fluid(vehicle: Vehicle, heave: Heave | None, v: Array, w: Array, water: Array, a: Array, alpha: Array) -> Array:
    """What the accelerated water does to the body (Kirchhoff), for a constant, irrotational current."""
    added = vehicle.added_mass.copy()
    if heave is not None:
        added[2, 2] = heave.added_mass_kg
    a_relative = a + cross(w, water)  # d/dt of R^T v_c is −w × (R^T v_c)
    rate = added @ np.concatenate([a_relative, alpha])
    momentum = added @ np.concatenate([v - water, w])
    p, q = momentum[:3], momentum[3:]
    turning = np.concatenate([cross(w, p), cross(w, q) + cross(v - water, p)])
    return -rate - (turning if vehicle.added_mass_coriolis else 0.0)


def drag(vehicle: Vehicle, v_relative: Array, w: Array) -> Array:
    """Linear and quadratic, per axis; heave by the direction of motion."""
    nu = np.concatenate([v_relative, w])
    linear, quadratic = vehicle.linear_damping.copy(), vehicle.quadratic_damping.copy()
    if vehicle.heave_dive is not None and vehicle.heave_rise is not None:
        heave = vehicle.heave_dive if nu[2] >= 0 else vehicle.heave_rise
        linear[2, 2], quadratic[2, 2] = heave.linear_Nspm, heave.quadratic_Ns2pm2
    return linear @ nu + quadratic @ (nu * np.abs(nu))


def thruster_wrench(vehicle: Vehicle, thrust: Array) -> Array:
    """Sum over the thrusters."""
    total, sizes = np.zeros(6), iter(thrust)
    for thruster in vehicle.thrusters:
        force = next(sizes) * thruster.direction
        if thruster.kind == "azimuth":  # and across, to starboard of its direction
            force = force + next(sizes) * cross(np.array([0.0, 0.0, 1.0]), thruster.direction)
        total += np.concatenate([force, cross(thruster.position_m, force)])
    return total


def static_wrench(vehicle: Vehicle, to_ned: Array, depth: float, surface: bool) -> Array:
    """Weight at the centre of gravity, buoyancy at the centre of buoyancy, and the waterplane's stiffness."""
    weight = to_ned.T @ np.array([0, 0, vehicle.weight_N])
    buoyancy = to_ned.T @ np.array([0, 0, -vehicle.buoyancy_N])
    if surface:
        buoyancy = buoyancy * cap((to_ned @ vehicle.cb_m)[2] + depth, vehicle.size_m[2])
    moment = cross(vehicle.cg_m, weight) + cross(vehicle.cb_m, buoyancy)
    total = np.concatenate([weight + buoyancy, moment])
    if vehicle.waterplane is not None:
        heave, roll, pitch = vehicle.waterplane
        sin_roll, cos_roll = to_ned[2, 1], to_ned[2, 2]  # each times the cosine of pitch
        sin_pitch = -to_ned[2, 0]
        up = to_ned.T @ np.array([0, 0, -heave * depth])
        turn = [-roll * sin_roll * cos_roll, -pitch * sin_pitch * cos_roll, (pitch - roll) * sin_pitch * sin_roll]
        total += np.concatenate([up, turn])
    return total


def cap(depth: float, height: float) -> float:
    """Share of a sphere's volume that is below the surface, its centre at `depth`: the spherical segment."""
    radius = height / 2
    draught = min(max(depth + radius, 0.0), height)
    return draught**2 * (3 * radius - draught) / (4 * radius**3)


def energy(vehicle: Vehicle, x: Array, surface: bool = False) -> float:
    """Kinetic energy of body and water (at rest far away), and potential energy of weight, buoyancy, waterplane."""
    to_ned = Rotation.from_quat([*x[4:7], x[3]]).as_matrix()
    v, w = x[VELOCITY], x[RATE]
    v_cg = v + cross(w, vehicle.cg_m)
    r = vehicle.cg_m
    about_cg = vehicle.inertia_kgm2 - vehicle.mass_kg * (r @ r * np.eye(3) - np.outer(r, r))
    kinetic = (
        0.5 * vehicle.mass_kg * v_cg @ v_cg + 0.5 * w @ about_cg @ w + 0.5 * x[TWIST] @ vehicle.added_mass @ x[TWIST]
    )
    depth_cg, depth_cb = ((x[:3] + to_ned @ point)[2] for point in (vehicle.cg_m, vehicle.cb_m))
    if surface:  # the work of lifting it, one thin slice after the other
        depths = np.linspace(min(-vehicle.size_m[2], depth_cb), depth_cb, 20001)
        depth_cb = np.trapezoid([cap(d, vehicle.size_m[2]) for d in depths], depths)
    potential = -vehicle.weight_N * depth_cg + vehicle.buoyancy_N * depth_cb
    if vehicle.waterplane is not None:
        heave, roll, pitch = vehicle.waterplane
        potential += 0.5 * (heave * x[2] ** 2 + roll * to_ned[2, 1] ** 2 + pitch * to_ned[2, 0] ** 2)
    return float(kinetic + potential)


def cross(a: Array, b: Array) -> Array:
    """a × b; numpy's own takes ten times as long for one pair."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def solve_affine(function: Callable[[Array], Array]) -> Array:
    """The root of an affine function of six numbers."""
    offset = function(np.zeros(6))
    slopes = np.column_stack([function(unit) - offset for unit in np.eye(6)])
    return np.linalg.solve(slopes, -offset)
