"""The planar model of a platform in any configuration (Boogmans 2021, section 4 and 5.2).

Body frame FRD, so that x is forward, y to starboard and a positive moment turns the bow to starboard. The controller of
the thesis works on these numbers; ours works on the composite vehicle, of which they are the planar part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
SURGE_SWAY_YAW = np.array([0, 1, 5])


@dataclass(frozen=True)
class PlanarPose:
    """Of a module in the platform's frame, or of anything in the world's: x, y (m) and heading (rad)."""

    x_m: float = 0.0
    y_m: float = 0.0
    heading_rad: float = 0.0

    @property
    def position_m(self) -> Array:
        """(2,)"""
        return np.array([self.x_m, self.y_m])

    def then(self, inner: PlanarPose) -> PlanarPose:
        """The pose of a frame that lies at `inner` in this one."""
        x, y = self.position_m + rotation(self.heading_rad) @ inner.position_m
        return PlanarPose(float(x), float(y), wrapped(self.heading_rad + inner.heading_rad))

    def inverse(self) -> PlanarPose:
        """Of the other frame in this one."""
        x, y = -rotation(-self.heading_rad) @ self.position_m
        return PlanarPose(float(x), float(y), wrapped(-self.heading_rad))

    def seen_from(self, other: PlanarPose) -> PlanarPose:
        """In the other's frame (6.1)."""
        return other.inverse().then(self)


@dataclass(frozen=True)
class Module:
    """One vessel in the plane."""

    mass: Array  # (3,3) rigid-body and added mass
    damping: Array  # (3,3) linear
    thrusters_m: Array  # (k,2) azimuth thrusters, body frame
    thrust_N: Array  # (k,) largest force of each

    @staticmethod
    def of(vehicle: Vehicle, thrust_N: float | None = None) -> Module:
        """The planar part of a vessel; `thrust_N`: another limit than its thrusters' own."""
        for thruster in vehicle.thrusters:
            if thruster.kind != "azimuth":
                raise ShoalError(
                    f"thruster '{thruster.name}' of {vehicle.name} is {thruster.kind}; expected azimuth thrusters only"
                )
        plane = np.ix_(SURGE_SWAY_YAW, SURGE_SWAY_YAW)
        limits = [t.max_forward_N if thrust_N is None else thrust_N for t in vehicle.thrusters]
        places = np.array([t.position_m[:2] for t in vehicle.thrusters])
        return Module(mass_matrix(vehicle)[plane], vehicle.linear_damping[plane], places, np.array(limits))


@dataclass(frozen=True)
class PlatformModel:
    """What the thesis's controller knows of a configuration; frame: the founding module's."""

    mass: Array  # (3,3) about the frame's origin (4.29)
    damping: Array  # (3,3)
    cg_m: Array  # (2,) where M12 vanishes (4.40 with the sign of its code)
    mass_at_cg: Array  # (3,3) (5.7)
    mass_kg: float  # the mean over directions (5.8)
    inertia_kgm2: float  # about the centre of gravity
    levers_m: Array  # (n,2) thrusters from the centre of gravity, platform axes (5.22)
    headings_rad: Array  # (n,) of the module each thruster belongs to
    thrust_N: Array  # (n,)

    @property
    def max_force_N(self) -> float:
        """(5.9, 5.10)"""
        return float(self.thrust_N.sum())

    @property
    def max_moment_Nm(self) -> float:
        """Σ r²/r_far f: the largest that the allocation reaches within every limit (its code and Table 6.8).

        Its text has Σ r f (5.13) instead, which its allocation cannot deliver.
        """
        distances = np.linalg.norm(self.levers_m, axis=1)
        return float(np.sum(distances**2 * self.thrust_N) / distances.max())

    @property
    def max_moment_as_printed_Nm(self) -> float:
        """(5.13)"""
        return float(np.linalg.norm(self.levers_m, axis=1) @ self.thrust_N)


def compose(modules: Mapping[str, Module], places: Mapping[str, PlanarPose]) -> PlatformModel:
    """Superposition of the modules, each transformed into the platform's frame (4.25, 4.29)."""
    if not modules:
        raise ShoalError("platform: no module; expected at least one")
    mass, damping = np.zeros((3, 3)), np.zeros((3, 3))
    thrusters, headings, limits = [], [], []
    for name, module in modules.items():
        place = places[name]
        twist = planar_twist(place)
        mass += twist.T @ module.mass @ twist
        damping += twist.T @ module.damping @ twist
        thrusters.append(place.position_m + module.thrusters_m @ rotation(place.heading_rad).T)
        headings.append(np.full(len(module.thrusters_m), place.heading_rad))
        limits.append(module.thrust_N)
    q = np.linalg.solve(mass[:2, :2], mass[:2, 2])
    cg = np.array([q[1], -q[0]])
    shift = shift_matrix(-cg)
    at_cg = shift.T @ mass @ shift
    return PlatformModel(
        mass=mass,
        damping=damping,
        cg_m=cg,
        mass_at_cg=at_cg,
        mass_kg=float(np.trace(at_cg[:2, :2]) / 2),
        inertia_kgm2=float(at_cg[2, 2]),
        levers_m=np.concatenate(thrusters) - cg,
        headings_rad=np.concatenate(headings),
        thrust_N=np.concatenate(limits),
    )


def platform_pose(members: Mapping[str, PlanarPose], places: Mapping[str, PlanarPose]) -> PlanarPose:
    """The platform's pose from the measured poses of all members: the mean of what each of them shows (5.5, 5.6).

    The thesis takes the first member's alone: then that one's tracking decides, and its noise is not averaged.
    """
    seen = [members[name].then(place.inverse()) for name, place in places.items() if name in members]
    if not seen:
        raise ShoalError("platform: no member has been measured; expected at least one")
    headings = np.array([pose.heading_rad for pose in seen])
    x, y = np.mean([pose.position_m for pose in seen], axis=0)
    return PlanarPose(float(x), float(y), float(np.arctan2(np.sin(headings).mean(), np.cos(headings).mean())))


def planar_twist(place: PlanarPose) -> Array:
    """J H (3,3): ν of a module = J H ν of the platform (4.17)."""
    turn = np.eye(3)
    turn[:2, :2] = rotation(-place.heading_rad)
    return turn @ shift_matrix(place.position_m)


def shift_matrix(position_m: Sequence[float] | Array) -> Array:
    """H (3,3) (4.20): velocity of a point of a rigid body from the velocity of its origin."""
    return np.array([[1.0, 0.0, -position_m[1]], [0.0, 1.0, position_m[0]], [0.0, 0.0, 1.0]])


def rotation(angle_rad: float) -> Array:
    """(2,2)"""
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    return np.array([[c, -s], [s, c]])


def wrapped(angle_rad: float) -> float:
    """In [−π, π)."""
    return float((angle_rad + np.pi) % (2 * np.pi) - np.pi)
