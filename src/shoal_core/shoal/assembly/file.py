"""Assembly files: which modules, and how they are joined."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy
from pydantic import Field, NonNegativeFloat, ValidationError, model_validator

from shoal.assembly.composite import Composite, compose
from shoal.assembly.hulls import overlap_m
from shoal.assembly.joints import Assembly, Joint, Pose
from shoal.config.file_model import FileModel, Vector
from shoal.config.files import find_config, load_yaml
from shoal.errors import ShoalError
from shoal.frames import from_euler, scalar_first
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal.vehicles.ports import Port, fits, mated_attitude

GRAVITY_MPS2 = 9.81
Six = tuple[NonNegativeFloat, NonNegativeFloat, NonNegativeFloat, NonNegativeFloat, NonNegativeFloat, NonNegativeFloat]
TOUCHING_M = 0.01  # hulls are boxes here; real ones have rounded corners


class BodyEntry(FileModel):
    """Something that is carried along: a bracket, a rod. Neutrally buoyant, its centre of mass is its origin."""

    size_m: Vector
    mass_kg: float = Field(gt=0)
    inertia_kgm2: Vector
    added_mass: Six  # kg, kg m²
    linear_damping: Six  # N s/m, N m s
    quadratic_damping: Six  # N s²/m², N m s²

    def vehicle(self, name: str) -> Vehicle:
        """As a vehicle without thrusters."""
        nothing = np.zeros(3)
        return Vehicle(
            name=name,
            parameter_set="assembly file",
            size_m=self.size_m,
            mass_kg=self.mass_kg,
            weight_N=self.mass_kg * GRAVITY_MPS2,
            buoyancy_N=self.mass_kg * GRAVITY_MPS2,
            inertia_kgm2=np.diag(self.inertia_kgm2),
            cg_m=nothing,
            cb_m=nothing,
            added_mass=np.diag(self.added_mass),
            linear_damping=np.diag(self.linear_damping),
            quadratic_damping=np.diag(self.quadratic_damping),
            heave_dive=None,
            heave_rise=None,
            added_mass_coriolis=True,
            thrusters=(),
        )


class ModuleEntry(FileModel):
    """One module: a vehicle type with one of its parameter sets, or a passive body."""

    type: str = "bluerov2_heavy"
    parameter_set: str | None = None
    thrust_limit_N: float | None = Field(default=None, gt=0)  # per thruster and direction; None: the parameter set's
    body: BodyEntry | None = None  # in place of a type

    @model_validator(mode="after")
    def _either(self) -> ModuleEntry:
        extra = self.model_fields_set & {"type", "parameter_set", "thrust_limit_N"}
        if self.body is not None and extra:
            raise ValueError(f"body and {', '.join(sorted(extra))} are given; expected a vehicle type or a body")
        return self

    def vehicle(self) -> Vehicle:
        """Its description, loaded."""
        if self.body is not None:
            return self.body.vehicle("body")
        vehicle = load_vehicle(self.type, self.parameter_set)
        return vehicle if self.thrust_limit_N is None else vehicle.with_thrust_limit(self.thrust_limit_N)


class JointEntry(FileModel):
    """Two ports that are latched; or a point of each module that coincide, and how B is turned against A."""

    a: str
    b: str
    port_a: str | None = None  # of A's vehicle file: place, direction and up say all
    port_b: str | None = None
    at_a_m: Vector | None = None  # A's body frame, FRD
    at_b_m: Vector | None = None  # B's
    attitude_deg: Vector | None = None  # roll, pitch, yaw; None: not turned

    @model_validator(mode="after")
    def _either(self) -> JointEntry:
        ports = [key for key in ("port_a", "port_b") if getattr(self, key) is not None]
        points = [key for key in ("at_a_m", "at_b_m", "attitude_deg") if getattr(self, key) is not None]
        if (ports and points) or not (len(ports) == 2 or {"at_a_m", "at_b_m"} <= set(points)):
            given = ", ".join(ports + points) or "neither ports nor points"
            raise ValueError(
                f"{self.a} to {self.b} has {given}; expected port_a and port_b, or at_a_m and at_b_m (and attitude_deg)"
            )
        return self

    def joint(self, modules: Mapping[str, Vehicle]) -> Joint:
        """The same as a value."""
        if self.port_a is not None and self.port_b is not None:
            a, b = self._port(modules, self.a, self.port_a), self._port(modules, self.b, self.port_b)
            if not fits(a, b):
                raise ShoalError(
                    f"joints: port '{a.name}' of {self.a} is {a.kind}, '{b.name}' of {self.b} {b.kind}; "
                    "expected two androgynous ones, or a plug and a socket"
                )
            mated = scalar_first(scipy.spatial.transform.Rotation.from_matrix(mated_attitude(a, b)).as_quat())
            return Joint(self.a, self.b, a.place_m, b.place_m, mated)
        attitude = from_euler(*np.radians(self.attitude_deg or (0.0, 0.0, 0.0)).tolist())
        return Joint(self.a, self.b, np.array(self.at_a_m), np.array(self.at_b_m), attitude)

    @staticmethod
    def _port(modules: Mapping[str, Vehicle], module: str, name: str) -> Port:
        if module not in modules:
            raise ShoalError(f"joints: '{module}' is not a module; expected one of {', '.join(sorted(modules))}")
        found = {port.name: port for port in modules[module].ports}
        if name not in found:
            known = ", ".join(found) or f"at_a_m and at_b_m, as '{modules[module].name}' has no ports"
            raise ShoalError(f"joints: '{module}' has no port '{name}'; expected one of {known}")
        return found[name]


class AssemblyFile(FileModel):
    """An assembly file, validated."""

    version: int = Field(ge=1, le=1)
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    source: str = ""
    modules: Mapping[str, ModuleEntry] = Field(min_length=1)
    joints: tuple[JointEntry, ...] = ()
    frame: str | None = (
        None  # a module, whose body frame the assembly's is; None: its axes are the first one's, at the CG
    )

    @model_validator(mode="after")
    def _frame_of_a_module(self) -> AssemblyFile:
        if self.frame is not None and self.frame not in self.modules:
            raise ValueError(f"frame is '{self.frame}'; expected one of {', '.join(self.modules)}")
        return self

    def assembly(self, modules: Mapping[str, Vehicle] | None = None) -> Assembly:
        """The graph, with the described modules or with others in their places."""
        found = {name: entry.vehicle() for name, entry in self.modules.items()} if modules is None else modules
        joints = tuple(entry.joint(found) for entry in self.joints)
        latched = [(e.a, e.port_a) for e in self.joints] + [(e.b, e.port_b) for e in self.joints]
        for module, port in latched:
            if port is not None and latched.count((module, port)) > 1:
                raise ShoalError(f"joints: port '{port}' of {module} is latched twice; expected one joint at each port")
        return Assembly(found, joints)

    def composite(self, modules: Mapping[str, Vehicle] | None = None) -> Composite:
        """All of it as one vehicle. The drawing, not the modules' masses, says where its frame is."""
        described = self.assembly()
        group = tuple(described.modules)
        poses = described.poses(group)
        frame = poses[self.frame] if self.frame is not None else _at_centre(described, group)
        return compose(described if modules is None else self.assembly(modules), group, frame)


def _at_centre(assembly: Assembly, group: tuple[str, ...]) -> Pose:
    """The first module's axes at the centre of mass, seen from the first module."""
    return compose(assembly, group).poses[group[0]].inverse()


def load_assembly(name_or_path: str | Path) -> AssemblyFile:
    """An assembly by name or file; modules, joints, loops and hulls are checked as well."""
    path = find_config("assemblies", name_or_path)
    file = load_yaml(path, AssemblyFile)
    try:
        assembly = file.assembly()
        _check(assembly)
        file.composite()
    except (ShoalError, ValidationError) as error:
        raise ShoalError(f"{path}: {error}") from None
    return file


def _check(assembly: Assembly) -> None:
    groups = assembly.groups()
    if len(groups) > 1:
        raise ShoalError(
            f"joints: nothing joins {', '.join(groups[1])} to '{groups[0][0]}'; expected one connected assembly"
        )
    poses = assembly.poses(groups[0])
    for a, b in combinations(groups[0], 2):
        deep_m = overlap_m(poses[a], assembly.modules[a].size_m, poses[b], assembly.modules[b].size_m)
        if deep_m > TOUCHING_M:
            raise ShoalError(
                f"joints: the hulls of {a} and {b} overlap by {deep_m:.3g} m; expected modules side by side "
                f"(at most {TOUCHING_M:g} m)"
            )
