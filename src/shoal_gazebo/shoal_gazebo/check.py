"""Is the model file the vehicle? Every number read back from the SDF and held against the description."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.frames import frd_to_flu, skew
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix
from shoal_gazebo.body import LENT_MOST, Water
from shoal_gazebo.floating import fixed_thrusters, float_forces
from shoal_gazebo.frames import FRD_TO_FLU_6, flu_inertia, flu_matrix
from shoal_gazebo.sdf_reader import FORCES, VELOCITIES, Camera, LinkNumbers, ModelNumbers, Plugin, Shape

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    what: str
    deviation: float  # largest, in the quantity's own unit; 0 or 1 for yes/no questions
    tolerance: float
    unit: str = ""

    @property
    def ok(self) -> bool:
        """Within tolerance (NaN is not)."""
        return bool(self.deviation <= self.tolerance)


def check_model(model: ModelNumbers, vehicle: Vehicle, water: Water) -> list[Finding]:
    """All findings, good and bad."""
    forces = [*_rigid_body(model, vehicle, water), *_water_forces(model, vehicle, water), *_thrust(model, vehicle)]
    return [*forces, *_wiring(model, vehicle)]


def _compare(what: str, found: ArrayLike, expected: ArrayLike, tolerance: float, unit: str) -> Finding:
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if found.shape != expected.shape:
        return Finding(what, np.inf, tolerance, unit)
    return Finding(what, float(np.max(np.abs(found - expected), initial=0.0)), tolerance, unit)


def _is_so(what: str, answer: bool) -> Finding:
    return Finding(what, 0.0 if answer else 1.0, 0.0)


def spatial_inertia(link: LinkNumbers) -> Array:
    """6×6 mass matrix of a link about the model's origin, without added mass."""
    position, turned = link.pose.position_m, link.pose.rotation
    lever = skew(position + turned @ link.com_m)
    about_com = turned @ link.inertia_kgm2 @ turned.T
    m = link.mass_kg
    return np.block([[m * np.eye(3), -m * lever], [m * lever, about_com - m * lever @ lever]])


def _rigid_body(model: ModelNumbers, vehicle: Vehicle, water: Water) -> list[Finding]:
    links = list(model.links.values())
    rigid = sum((spatial_inertia(link) for link in links), np.zeros((6, 6)))
    mass = float(rigid[0, 0])
    cg = np.array([rigid[5, 1], rigid[3, 2], rigid[4, 0]]) / mass  # out of m S(r_g)
    lever = skew(frd_to_flu(vehicle.cg_m))
    surplus = mass - vehicle.mass_kg
    inertia = rigid[3:, 3:] + surplus * lever @ lever
    carriers = [link.name for link in links if link.added_mass is not None]
    added = sum((link.added_mass for link in links if link.added_mass is not None), np.zeros((6, 6)))
    expected_added = flu_matrix(vehicle.added_mass) - _rigid(surplus, lever)
    # What a vessel's published tensor lacks to be a body's is in the added mass; the sum below is exact all the same.
    slack = 0.0 if _possible(vehicle.inertia_kgm2) else LENT_MOST * float(np.linalg.eigvalsh(vehicle.inertia_kgm2)[2])
    possible = all(_possible(link.inertia_kgm2) for link in links)
    return [
        _compare("weight: Σ mass · g = W", mass * water.gravity_mps2, vehicle.weight_N, 1e-6, "N"),
        _compare("mass", mass, vehicle.mass_kg, 5e-4 * vehicle.mass_kg, "kg"),  # W/g of the world, see docs/gazebo.md
        _compare("centre of gravity", cg, frd_to_flu(vehicle.cg_m), 1e-9, "m"),
        _compare("inertia about CO", inertia, flu_inertia(vehicle.inertia_kgm2), 1e-9 + slack, "kg m²"),
        _is_so("added mass on the hull alone", carriers == ["base_link"]),
        _compare("added mass in FLU", added, expected_added, 1e-8 + slack, "kg"),
        _compare("mass matrix M_RB + M_A", rigid + added, flu_matrix(mass_matrix(vehicle)), 1e-8, "kg"),
        _is_so("inertias that a body can have", possible),
    ]


def _rigid(mass: float, lever: Array) -> Array:
    return mass * np.block([[np.eye(3), -lever], [lever, -lever @ lever]])


def _possible(inertia: Array) -> bool:
    moments = np.linalg.eigvalsh(inertia)
    return bool(moments[0] > 0 and moments[0] + moments[1] >= moments[2])


def _water_forces(model: ModelNumbers, vehicle: Vehicle, water: Water) -> list[Finding]:
    shapes = [s for link in model.links.values() for s in link.shapes]
    floats = vehicle.waterplane is not None
    on_hull = all(not link.shapes for name, link in model.links.items() if name != "base_link")
    volume = sum(s.volume_m3 for s in shapes)
    centroid = sum((s.volume_m3 * s.center_m for s in shapes), np.zeros(3)) / volume
    linear, quadratic, strange = damping_of(model.systems("Hydrodynamics"))
    dissipates = np.linalg.eigvalsh(linear + linear.T).max() <= 1e-12 and np.diag(quadratic).max() <= 0
    carriers = {s.name: s.touches for s in shapes if s.name == "displacement" or s.name.startswith("pontoon_")}
    force = volume * water.density_kgpm3 * water.gravity_mps2
    touching = [s.touches for s in shapes if s.name not in carriers]
    apart = bool(carriers) and not any(carriers.values()) and all(touching) and len(touching) > 0
    lift = _floating(shapes, vehicle, water) if floats else [
        _compare("buoyancy: volume · ρ · g = B", force, vehicle.buoyancy_N, 1e-6, "N"),
        _compare("centre of buoyancy", centroid, frd_to_flu(vehicle.cb_m), 1e-9, "m"),
    ]  # fmt: skip
    return [
        *lift,
        _is_so("collisions on the hull alone", on_hull),
        _is_so("contact apart from displacement", apart),
        _compare("linear damping", linear, -flu_matrix(vehicle.linear_damping), 1e-9, "N s/m"),
        _compare("quadratic damping", quadratic, -flu_matrix(vehicle.quadratic_damping), 1e-9, "N s²/m²"),
        _is_so("damping takes energy out", bool(dissipates)),
        _is_so("Hydrodynamics: empty, then damping only", not strange),
    ]


def _floating(shapes: list[Shape], vehicle: Vehicle, water: Water) -> list[Finding]:
    boxes = [(s.center_m, s.size_m) for s in shapes if s.size_m is not None]
    force, arms, stiffness = float_forces(boxes, water)
    assert vehicle.waterplane is not None
    above = vehicle.buoyancy_N * float(frd_to_flu(vehicle.cb_m)[2])
    return [
        _is_so("boxes alone, which are cut at the surface", len(boxes) == len(shapes)),
        _compare("buoyancy with CO in the surface = B", force, vehicle.buoyancy_N, 1e-6, "N"),
        _compare("centre of buoyancy amidships", arms[:2], np.zeros(2), 1e-9, "N m"),
        _compare("waterplane in heave, roll, pitch", stiffness, vehicle.waterplane + [0.0, above, above], 1e-6, "N/m"),
    ]


def damping_of(systems: list[Plugin]) -> tuple[Array, Array, bool]:
    """Linear and quadratic matrices of the Hydrodynamics system behind an empty one; True if there is anything else."""
    linear, quadratic = np.zeros((6, 6)), np.zeros((6, 6))
    if len(systems) != 2 or systems[0].values != {"link_name": "base_link"}:
        return linear, quadratic, True
    values = dict(systems[1].values)
    for i, force in enumerate(FORCES):
        for j, velocity in enumerate(VELOCITIES):
            linear[i, j] = float(values.pop(f"{force}{velocity}", 0))
            quadratic[i, j] = float(values.pop(f"{force}{velocity}abs{velocity}", 0))
    rest = {k: v for k, v in values.items() if k != "default_current"}
    wanted = {"link_name": "base_link", "disable_added_mass": "true", "disable_coriolis": "true"}
    return linear, quadratic, rest != wanted


def thrust_matrix(model: ModelNumbers) -> tuple[Array, list[Plugin]]:
    """Force and moment per newton of each Thruster system, from its joint's axis and its link's pose; FLU about CO."""
    columns = []
    systems = model.systems("Thruster")
    for system in systems:
        joint = model.joints[system.values["joint_name"]]
        link = model.links[joint.child]
        force = link.pose.rotation @ (joint.axis / np.linalg.norm(joint.axis))
        columns.append(np.concatenate([force, np.cross(link.pose.position_m, force)]))
    return np.array(columns).T.reshape(6, len(systems)), systems


def _thrust(model: ModelNumbers, vehicle: Vehicle) -> list[Finding]:
    matrix, systems = thrust_matrix(model)
    limits = [[s.number(k) for k in ("min_thrust_cmd", "max_thrust_cmd", "deadband")] for s in systems]
    expected = [[-t.max_reverse_N, t.max_forward_N, t.dead_band_N] for t in fixed_thrusters(vehicle)]
    return [
        _compare("thrust matrix", FRD_TO_FLU_6 @ matrix, vehicle.thrust_matrix, 1e-6, "N, N m"),
        _compare("thrust limits and dead bands", limits, expected, 1e-9, "N"),
    ]


def _wiring(model: ModelNumbers, vehicle: Vehicle) -> list[Finding]:
    thrusters, odometry = model.systems("Thruster"), model.systems("OdometryPublisher")
    joints = [f"{name}_joint" for name in vehicle.input_names]
    commanded = [s.values["joint_name"] for s in thrusters]
    plain = all("namespace" not in s.values and "topic" not in s.values for s in thrusters)
    by_force = all(s.values.get("velocity_control") == "true" and "use_angvel_cmd" not in s.values for s in thrusters)
    own_name = f"{model.name}/base_link"
    poses = [(s.values.get("dimensions"), s.values.get("odom_frame")) for s in odometry]
    named = all(
        s.values.get("robot_base_frame", own_name) == own_name and "odom_topic" not in s.values for s in odometry
    )
    return [
        _is_so("joints as the bridge expects", commanded == joints == list(model.joints)),
        _is_so("thrust topics under the model's name", plain and by_force),
        _is_so("odometry in 3-D, in map", poses == [("3", "map")]),
        _is_so("odometry under the model's name", named),
        _is_so("cameras look forward, named by Gazebo", all(_forward(c) for c in model.cameras)),
    ]


def _forward(camera: Camera) -> bool:
    level = bool(np.allclose(camera.pose.rotation, np.eye(3)))
    return level and camera.link == "base_link" and camera.topic is None and camera.width == camera.height
