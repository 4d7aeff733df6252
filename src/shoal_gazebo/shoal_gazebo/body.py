"""A vehicle description turned into the numbers Gazebo wants, so that the sum of its forces is the core's model.

Who applies what, and where (read in gz-sim 8, gz-physics 7, SDFormat 14; docs/gazebo.md has the details):
  * gravity: mass × the world's gravity, at each link's centre of mass; a weight of its own can't be given;
  * Buoyancy: density × gravity × the volume of every collision of a link, at the centre of each;
  * Hydrodynamics: damping from the velocity of the link's origin, at the link's origin;
  * <fluid_added_mass>: about the link's origin, with its Coriolis forces, inside the solver (DART);
  * Thruster: along the joint's axis, at the origin of the propeller's link.
So the link's origin is CO, and the propellers' small masses are taken out of the hull's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.frames import frd_to_flu, skew
from shoal.vehicles.actuators import Thruster
from shoal.vehicles.description import Vehicle
from shoal_gazebo.floating import fixed_thrusters, pontoons
from shoal_gazebo.frames import flu_inertia, flu_matrix, rotation_rpy, rpy_along_x

Array = NDArray[np.float64]

# The propellers turn for the eye only: light and slow, so that their spin does not push the hull around.
PROPELLER_MASS_KG = 0.005
PROPELLER_RADIUS_M = 0.038
PROPELLER_SPEED_RADPS = 25.0  # at full forward thrust
PROPELLER_AXIAL_KGM2 = 0.5 * PROPELLER_MASS_KG * PROPELLER_RADIUS_M**2
PROPELLER_ACROSS_KGM2 = 0.6 * PROPELLER_AXIAL_KGM2  # a disc of some thickness: above half of the axial one
PLATE_THICKNESS_M = 0.004
LENT_MOST = 0.02  # share of a principal moment that may be written as added mass instead


@dataclass(frozen=True)
class Water:
    """What the world gives: the model's volume only means a force together with these."""

    gravity_mps2: float
    density_kgpm3: float = 1000.0


@dataclass(frozen=True)
class Propeller:
    """A link that carries one thruster's force; its x axis is the direction of positive thrust."""

    name: str  # of the thruster; the joint is <name>_joint
    position_m: Array  # (3,) FLU from CO
    rpy_rad: tuple[float, float, float]
    max_N: float
    min_N: float
    dead_band_N: float
    thrust_coefficient: float  # its sign is the propeller's handedness


@dataclass(frozen=True)
class Plate:
    """One side of the contact shell."""

    name: str
    center_m: Array  # (3,) FLU
    size_m: Array  # (3,)


@dataclass(frozen=True)
class GazeboBody:
    """Everything the model template needs about forces. FLU, origin CO."""

    mass_kg: float  # of the hull's link: the propellers' are apart
    com_m: Array  # (3,)
    inertia_kgm2: Array  # (3,3) about com_m
    added_mass: Array  # (6,6)
    linear_damping: Array  # (6,6), negative where it brakes
    quadratic_damping: Array  # (6,6), likewise
    displacement_center_m: Array  # (3,) of the sphere that carries what the plates don't displace
    displacement_radius_m: float  # 0: there is none
    plates: tuple[Plate, ...]
    propellers: tuple[Propeller, ...]
    pontoons: tuple[Plate, ...] = ()  # of a vessel, in place of the sphere


def default_gravity(vehicle: Vehicle) -> float:
    """The gravity at which the vehicle's mass has its published weight."""
    return vehicle.weight_N / vehicle.mass_kg


def build_body(vehicle: Vehicle, water: Water) -> GazeboBody:
    """Numbers for one vehicle in one kind of water."""
    propellers = tuple(_propeller(i, t, water) for i, t in enumerate(fixed_thrusters(vehicle)))
    plates = contact_plates(vehicle.size_m)
    mass, com, described = _hull(vehicle, water, propellers)
    lent = _lent(described)
    _demand_a_body(vehicle, mass, described - lent)
    floats = () if vehicle.waterplane is None else pontoons(vehicle, water, plates, Plate)
    center, radius = (np.zeros(3), 0.0) if floats else _displacement(vehicle, water, plates)
    return GazeboBody(
        mass_kg=mass,
        com_m=com,
        inertia_kgm2=described - lent,
        added_mass=_added_mass(vehicle, water) + np.pad(lent, ((3, 0), (3, 0))),
        linear_damping=-flu_matrix(vehicle.linear_damping),
        quadratic_damping=-flu_matrix(vehicle.quadratic_damping),
        displacement_center_m=center,
        displacement_radius_m=radius,
        plates=plates,
        propellers=propellers,
        pontoons=floats,
    )


def not_in_gazebo(vehicle: Vehicle) -> list[str]:
    """What of this vehicle Gazebo's systems can't show, in words for the user."""
    notes = []
    if vehicle.heave_dive is not None:
        notes.append("heave that differs between dive and rise: the mean is used both ways")
    if not vehicle.added_mass_coriolis:
        notes.append("added mass without its Coriolis forces: DART always has them")
    if any(t.time_constant_s > 0 for t in vehicle.thrusters):
        lag = max(t.time_constant_s for t in vehicle.thrusters)
        notes.append(f"thruster lag ({lag:g} s): the Thruster system follows its command at once")
    if turning := [t.name for t in vehicle.thrusters if t.kind == "azimuth"]:
        notes.append(
            f"azimuths that turn ({', '.join(turning)}): each is two fixed thrusters, without slew and dead band"
        )
    return notes


def contact_plates(size_m: tuple[float, float, float], thickness_m: float = PLATE_THICKNESS_M) -> tuple[Plate, ...]:
    """A closed box of six thin plates. Thin, because Gazebo counts their volume as displaced water as well."""
    plates = []
    for axis, letter in enumerate("xyz"):
        for sign, word in ((1, "plus"), (-1, "minus")):
            center, size = np.zeros(3), np.array(size_m, dtype=float)
            size[axis] = thickness_m
            center[axis] = sign * (size_m[axis] - thickness_m) / 2
            plates.append(Plate(f"contact_{letter}_{word}", center, size))
    return tuple(plates)


def _surplus_kg(vehicle: Vehicle, water: Water) -> float:
    """Mass that gives the published weight in this world, less the published mass (often not quite W/g)."""
    return vehicle.weight_N / water.gravity_mps2 - vehicle.mass_kg


def _added_mass(vehicle: Vehicle, water: Water) -> Array:
    """M_A in FLU, less the surplus: weight, buoyancy and the sum M_RB + M_A are then all exact."""
    added = vehicle.added_mass
    if not np.allclose(added, added.T, atol=1e-12):
        raise ShoalError(
            f"{vehicle.name} ({vehicle.parameter_set}): added_mass is not symmetric; "
            "expected a symmetric matrix, SDF's <fluid_added_mass> can hold no other"
        )
    lever = skew(frd_to_flu(vehicle.cg_m))
    rigid = np.block([[np.eye(3), -lever], [lever, -lever @ lever]])
    return flu_matrix(added) - _surplus_kg(vehicle, water) * rigid


def _hull(vehicle: Vehicle, water: Water, propellers: tuple[Propeller, ...]) -> tuple[float, Array, Array]:
    """Mass, centre and inertia of the hull alone, so that hull and propellers together are the vehicle."""
    total = vehicle.mass_kg + _surplus_kg(vehicle, water)
    cg = frd_to_flu(vehicle.cg_m)
    lever = skew(cg)
    # The description's inertia is about CO; about the centre of mass it does not change with the surplus.
    about_cg = flu_inertia(vehicle.inertia_kgm2) + vehicle.mass_kg * lever @ lever
    about_co = about_cg - total * lever @ lever
    mass, moment = total, total * cg
    for propeller in propellers:
        mass -= PROPELLER_MASS_KG
        moment = moment - PROPELLER_MASS_KG * propeller.position_m
        about_co = about_co - _propeller_about_co(propeller)
    com = moment / mass
    inertia = about_co + mass * skew(com) @ skew(com)
    return mass, com, inertia


def _lent(inertia: Array) -> Array:
    """(3,3) what goes from the rigid body to the added mass, so that Gazebo takes a tensor that is no body's by a hair.

    Roll, pitch and yaw of a vessel come from different sources. Only the sum of both acts, so nothing is lost.
    """
    moments, axes = np.linalg.eigh(inertia)
    excess = (1 + 1e-6) * moments[2] - moments[0] - moments[1]
    if not 0.0 < excess <= LENT_MOST * moments[2]:
        return np.zeros((3, 3))
    return np.asarray(excess * np.outer(axes[:, 2], axes[:, 2]))


def _propeller_about_co(propeller: Propeller) -> Array:
    turned = rotation_rpy(*propeller.rpy_rad)
    own = turned @ np.diag([PROPELLER_AXIAL_KGM2, PROPELLER_ACROSS_KGM2, PROPELLER_ACROSS_KGM2]) @ turned.T
    arm = skew(propeller.position_m)
    return own - PROPELLER_MASS_KG * arm @ arm


def _demand_a_body(vehicle: Vehicle, mass: float, inertia: Array) -> None:
    """Gazebo refuses a tensor that no distribution of mass has."""
    moments = np.linalg.eigvalsh(inertia)
    if mass <= 0 or moments[0] <= 0 or moments[0] + moments[1] < moments[2]:
        raise ShoalError(
            f"{vehicle.name} ({vehicle.parameter_set}): hull mass {mass:.4g} kg with principal inertia "
            f"{np.round(moments, 6).tolist()} kg m^2 is no rigid body; "
            "expected positive values, none above the others' sum"
        )


def _displacement(vehicle: Vehicle, water: Water, plates: tuple[Plate, ...]) -> tuple[Array, float]:
    """The sphere that makes the volume of all collisions B/(ρ g) and their centroid CB."""
    volume = vehicle.buoyancy_N / (water.density_kgpm3 * water.gravity_mps2)
    by_plates = sum(float(np.prod(p.size_m)) for p in plates)
    rest = volume - by_plates
    if rest <= 0:
        raise ShoalError(
            f"{vehicle.name} ({vehicle.parameter_set}): buoyancy {vehicle.buoyancy_N:g} N displaces {volume:.4g} m^3, "
            f"the contact plates alone {by_plates:.4g} m^3; expected thinner plates or a smaller size_m"
        )
    first_moment = sum((float(np.prod(p.size_m)) * p.center_m for p in plates), np.zeros(3))
    center = (volume * frd_to_flu(vehicle.cb_m) - first_moment) / rest
    return center, float(np.cbrt(3 * rest / (4 * np.pi)))


def _propeller(index: int, thruster: Thruster, water: Water) -> Propeller:
    speed_squared = PROPELLER_SPEED_RADPS**2 * (2 * PROPELLER_RADIUS_M) ** 4 * water.density_kgpm3
    handedness = 1 if index % 2 == 0 else -1  # neighbours turn against each other, as on the vehicle
    return Propeller(
        name=thruster.name,
        position_m=frd_to_flu(thruster.position_m),
        rpy_rad=rpy_along_x(frd_to_flu(thruster.direction)),
        max_N=thruster.max_forward_N,
        min_N=-thruster.max_reverse_N,
        dead_band_N=thruster.dead_band_N,
        thrust_coefficient=handedness * thruster.max_forward_N / speed_squared,
    )
