"""Gazebo's documented forces on one model, and a small rigid-body integrator in ENU/FLU that plays them.

Written against the documentation and sources of gz-sim 8 and gz-physics 7, from the SDF's numbers alone; shares nothing
with Shoal's dynamics or with the generator but the file reader. Steps as DART does: accelerations at the old state,
then velocity, then pose with the new velocity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal_gazebo.sdf_reader import LinkNumbers, ModelNumbers, Plugin, Shape
from shoal_gazebo.world_reader import WorldNumbers

Array = NDArray[np.float64]


def cross_matrix(a: Array) -> Array:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0.0]])


@dataclass
class State:
    """Pose and velocity of the model's origin."""

    position: Array  # (3,) ENU
    rotation: Array  # (3,3) FLU to ENU
    velocity: Array  # (3,) FLU
    rate: Array  # (3,) FLU


class Hydrodynamics:
    """Damping at the link's origin from its velocity through the water; coefficients by SNAME name."""

    def __init__(self, system: Plugin) -> None:
        self.linear, self.quadratic = np.zeros((6, 6)), np.zeros((6, 6, 6))
        self.current = np.array([float(v) for v in system.values.get("default_current", "0 0 0").split()])
        for i, force in enumerate("xyzkmn"):
            for j, first in enumerate("UVWPQR"):
                self.linear[i, j] = float(system.values.get(f"{force}{first}", 0))
                for k, second in enumerate("UVWPQR"):
                    self.quadratic[i, j, k] = float(system.values.get(f"{force}{first}abs{second}", 0))

    def wrench(self, through_water: Array) -> Array:
        """Force and moment, FLU."""
        matrix = self.linear + self.quadratic @ np.abs(through_water)
        return np.asarray(matrix @ through_water)


def thruster_force(system: Plugin, command: float) -> float:
    """Clamped, and nothing inside the dead band."""
    force = float(np.clip(command, system.number("min_thrust_cmd"), system.number("max_thrust_cmd")))
    return 0.0 if abs(force) < system.number("deadband") else force


def propeller_speed(system: Plugin, force: float) -> float:
    """rad/s of the joint: thrust = coefficient · ρ · D⁴ · ω |ω|, the coefficient's sign gives the way round."""
    coefficient = system.number("thrust_coefficient")
    scale = coefficient * system.number("fluid_density") * system.number("propeller_diameter") ** 4
    return float(np.sqrt(abs(force / scale)) * np.sign(force * coefficient))


class GazeboVehicle:
    """One model in one world. `coriolis_through_water`: gz-sim corrects for the current from 8.12 on."""

    def __init__(self, model: ModelNumbers, world: WorldNumbers, coriolis_through_water: bool = True) -> None:
        self.model, self.world = model, world
        self.hydrodynamics = Hydrodynamics(model.systems("Hydrodynamics")[-1])
        self.thrusters = model.systems("Thruster")
        added = model.links["base_link"].added_mass
        assert added is not None
        self.added: Array = added
        self.mass_matrix = self.added + sum(self._link_matrix(link) for link in model.links.values())
        self.inverse = np.linalg.inv(self.mass_matrix)
        self.coriolis_through_water = coriolis_through_water
        self.still = self._gravity_and_buoyancy()
        self.reach_m = max(float(np.linalg.norm(s.center_m)) + s.volume_m3 ** (1 / 3) for s in self._shapes())
        self.air_kgpm3 = next((float(p.values["graded_buoyancy.density_change.density"]) for p in world.plugins
                               if "graded_buoyancy.density_change.density" in p.values), 0.0)  # fmt: skip
        self.thrust, self.spin, self.kick = np.zeros(6), np.zeros(3), np.zeros(3)

    @staticmethod
    def _link_matrix(link: LinkNumbers) -> Array:
        com = link.pose.position_m + link.pose.rotation @ link.com_m
        inertia = link.pose.rotation @ link.inertia_kgm2 @ link.pose.rotation.T
        s, m = cross_matrix(com), link.mass_kg
        return np.block([[m * np.eye(3), -m * s], [m * s, inertia - m * s @ s]])

    def _gravity_and_buoyancy(self) -> Array:
        """(6,3): wrench per unit of "up" in body axes. m g at every link's centre of mass (DART leaves the added mass
        out of it), ρ V g at the centre of every collision, all of it under water."""
        total = np.zeros((6, 3))
        g = -float(self.world.gravity_enu[2])
        for link in self.model.links.values():
            points = [(link.com_m, -link.mass_kg * g)]
            points += [(shape.center_m, self.world.density_kgpm3 * shape.volume_m3 * g) for shape in link.shapes]
            for point, upward in points:
                at = link.pose.position_m + link.pose.rotation @ point
                total += upward * np.vstack([np.eye(3), cross_matrix(at)])
        return total

    def _shapes(self) -> list[Shape]:
        return [shape for link in self.model.links.values() for shape in link.shapes]

    def _weight_and_lift(self, state: State) -> Array:
        """Wrench of weight and buoyancy; near the surface every collision is cut as if it were level, at the height of
        its own centre, and the force acts above or below that centre (gz-sim's GradedFluidDensity)."""
        up, surface = state.rotation[2], self.world.surface_m
        load = self.still @ up
        if surface is None or state.position[2] + self.reach_m < surface:
            return np.asarray(load)
        g = -float(self.world.gravity_enu[2])
        for link in self.model.links.values():
            for shape in link.shapes:
                at = link.pose.position_m + link.pose.rotation @ shape.center_m
                out = shape.volume_m3 - wet_volume(shape, float(state.position[2] + up @ at) - surface)
                lost = g * out * (self.world.density_kgpm3 - self.air_kgpm3)
                load = load - lost * np.concatenate([up, np.cross(at, up)])
        return np.asarray(load)

    def _hydrodynamics(self, nu: Array, current_body: Array) -> Array:
        """Damping, and the correction of the added mass's Coriolis force for the current."""
        through_water = nu.copy()
        through_water[:3] -= current_body
        wrench = self.hydrodynamics.wrench(through_water)
        if self.coriolis_through_water and current_body.any():
            wrench = wrench + coriolis(self.added, nu) - coriolis(self.added, through_water)
        return wrench

    def command(self, commands: Array) -> None:
        """New thrust, along each joint's axis at the propeller link's origin. The propellers change speed at once, and
        the hull gets the opposite momentum."""
        total, spin = np.zeros(6), np.zeros(3)
        for system, command in zip(self.thrusters, commands, strict=True):
            joint = self.model.joints[system.values["joint_name"]]
            link = self.model.links[joint.child]
            axis = link.pose.rotation @ joint.axis / np.linalg.norm(joint.axis)
            force = thruster_force(system, float(command))
            total += force * np.concatenate([axis, np.cross(link.pose.position_m, axis)])
            axial = joint.axis @ link.inertia_kgm2 @ joint.axis
            spin += axial * propeller_speed(system, force) * axis
        self.kick = self.spin - spin
        self.thrust, self.spin = total, spin

    def step(self, state: State, dt: float) -> State:
        """One physics step."""
        nu = np.concatenate([state.velocity, state.rate])
        load = self._weight_and_lift(state)  # the third row of the rotation is "up" in body axes
        load += self._hydrodynamics(nu, state.rotation.T @ self.hydrodynamics.current)
        load += self.thrust
        load -= coriolis(self.mass_matrix, nu)
        load[3:] -= cross_matrix(state.rate) @ self.spin
        load *= dt
        load[3:] += self.kick
        self.kick = np.zeros(3)
        nu = nu + self.inverse @ load
        position = state.position + state.rotation @ nu[:3] * dt
        return State(position, state.rotation @ turn(nu[3:] * dt), nu[:3], nu[3:])


def wet_volume(shape: Shape, height_m: float) -> float:
    """Of a level box, or a sphere, whose centre is so far above the surface."""
    if shape.size_m is not None:
        x, y, z = (float(v) for v in shape.size_m)
        return x * y * min(max(z / 2 - height_m, 0.0), z)
    radius = (3 * shape.volume_m3 / (4 * np.pi)) ** (1 / 3)
    cap = min(max(radius - height_m, 0.0), 2 * radius)
    return float(np.pi * cap**2 * (radius - cap / 3))


def coriolis(matrix: Array, nu: Array) -> Array:
    """C(ν) ν = [ω × p, v × p + ω × h] for momentum [p, h] = M ν."""
    momentum = matrix @ nu
    p, h = momentum[:3], momentum[3:]
    s = cross_matrix(nu[3:])
    return np.concatenate([s @ p, cross_matrix(nu[:3]) @ p + s @ h])


def turn(angle: Array) -> Array:
    """Rotation matrix of a rotation vector (Rodrigues)."""
    size = float(np.sqrt(angle @ angle))
    if size < 1e-12:
        return np.eye(3)
    s = cross_matrix(angle / size)
    return np.eye(3) + np.sin(size) * s + (1 - np.cos(size)) * s @ s
