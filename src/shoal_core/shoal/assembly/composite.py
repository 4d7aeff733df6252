"""Joined modules as one vehicle: what a controller, an estimator and the plant take like any other.

A rigid joint leaves six degrees of freedom to a group of modules, however many there are. With ν_i = T_i ν the masses
add up to Σ T_iᵀ M_i T_i, exactly, and so do Coriolis forces, since momenta transform alike; drag is quadratic, so each
hull keeps its own (Boogmans 2021, 4.13–4.20; the constraint engine is the judge of it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.joints import Assembly, Pose
from shoal.errors import ShoalError
from shoal.frames import matrix, multiply
from shoal.messages.state import ATTITUDE, POSITION, TWIST
from shoal.vehicles.actuators import Thruster
from shoal.vehicles.description import Hull, Vehicle
from shoal.vehicles.parameters import mass_matrix, rigid_body_mass
from shoal.vehicles.ports import Port

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Composite:
    """A group of joined modules as one vehicle, and the way back to the modules."""

    vehicle: Vehicle
    poses: Mapping[str, Pose]  # every module's body frame in the composite's
    inputs: Mapping[str, slice]  # every module's share of the composite's inputs

    @cached_property
    def twists(self) -> dict[str, Array]:
        """(6,6) of every module: its ν from the composite's; see `Pose.twist`."""
        return {name: pose.twist() for name, pose in self.poses.items()}

    @cached_property
    def _backs(self) -> dict[str, tuple[Pose, Array]]:
        """The composite's frame in every module's, and its twist."""
        backs = {name: pose.inverse() for name, pose in self.poses.items()}
        return {name: (back, back.twist()) for name, back in backs.items()}

    def module_states(self, state: Array) -> dict[str, Array]:
        """The modules' states (13,) read off the composite's."""
        position_m, attitude, turn = state[POSITION], state[ATTITUDE], matrix(state[ATTITUDE])
        found = {}
        for name, pose in self.poses.items():
            its = multiply(attitude, pose.attitude)
            own = found[name] = np.empty(13)
            own[POSITION] = position_m + turn @ pose.position_m
            own[ATTITUDE] = its / np.linalg.norm(its)
            own[TWIST] = self.twists[name] @ state[TWIST]
        return found

    def state_from(self, name: str, state: Array) -> Array:
        """The composite's state as one module's (13,) shows it."""
        back, twist = self._backs[name]
        root = Pose(state[POSITION], state[ATTITUDE]).then(back)
        return np.concatenate([root.position_m, root.attitude, twist @ state[TWIST]])

    def joined(self, modules: Mapping[str, Vehicle], states: Mapping[str, Array]) -> Array:
        """The composite's state right after its modules have been joined: pose of the first, momentum of all.

        Perfectly inelastic: ν⁺ = M⁻¹ Σ T_iᵀ M_i ν_i⁻.
        """
        first = next(iter(self.poses))
        state = self.state_from(first, states[first])
        momentum = np.zeros(6)
        for name, pose in self.poses.items():
            momentum += pose.twist().T @ mass_matrix(modules[name]) @ states[name][TWIST]
        state[TWIST] = np.linalg.solve(mass_matrix(self.vehicle), momentum)
        return state


def compose(assembly: Assembly, group: Iterable[str], frame: Pose | None = None) -> Composite:
    """A group of an assembly as one vehicle. `frame`: of the composite in the first module's.

    Without it: the axes of the first module, at the centre of mass, so that turning on the spot moves nobody off.
    """
    members = list(group)
    in_first = assembly.poses(members)
    modules = {name: assembly.modules[name] for name in members}
    for name, module in modules.items():
        _check(name, module)
    if frame is None:
        frame = frame_of(in_first, modules)
    back = frame.inverse()
    poses = {name: back.then(in_first[name]) for name in members}
    return Composite(_vehicle(poses, modules), poses, _inputs(modules))


def frame_of(in_first: Mapping[str, Pose], modules: Mapping[str, Vehicle]) -> Pose:
    """Of a composite for which none is given, in the first module's frame; poses are in that frame, too."""
    return Pose(_centre(in_first, modules), np.array([1.0, 0.0, 0.0, 0.0]))


def _check(name: str, module: Vehicle) -> None:
    if module.heave_dive is not None or not module.added_mass_coriolis:
        what = "heave coefficients that depend on the direction" if module.heave_dive else "no Coriolis of added mass"
        raise ShoalError(
            f"module '{name}' ({module.name}, {module.parameter_set}): {what}, which has no exact composite; "
            "expected another parameter set"
        )


def _centre(poses: Mapping[str, Pose], modules: Mapping[str, Vehicle]) -> Array:
    moment = sum(m.mass_kg * (poses[n].position_m + matrix(poses[n].attitude) @ m.cg_m) for n, m in modules.items())
    return np.asarray(moment) / sum(m.mass_kg for m in modules.values())


def _inputs(modules: Mapping[str, Vehicle]) -> dict[str, slice]:
    found, start = {}, 0
    for name, module in modules.items():
        found[name] = slice(start, start + module.input_count)
        start += module.input_count
    return found


def _vehicle(poses: Mapping[str, Pose], modules: Mapping[str, Vehicle]) -> Vehicle:
    twists = {name: poses[name].twist() for name in modules}
    rigid = sum(twists[n].T @ rigid_body_mass(m) @ twists[n] for n, m in modules.items())
    added = sum(twists[n].T @ m.added_mass @ twists[n] for n, m in modules.items())
    mass_kg = sum(m.mass_kg for m in modules.values())
    weight_N, buoyancy_N = (sum(getattr(m, key) for m in modules.values()) for key in ("weight_N", "buoyancy_N"))
    lever = np.asarray(rigid)[3:, :3] / mass_kg  # m S(cg) stands there
    cg = np.array([lever[2, 1], lever[0, 2], lever[1, 0]])
    hulls = tuple(hull for name in modules for hull in _hulls(poses[name], modules[name]))
    waterplane, coupling = _waterplane(poses, modules)
    return Vehicle(
        name=" + ".join(m.name for m in modules.values()) if len(modules) <= 3 else f"{len(modules)} joined",
        parameter_set="+".join(sorted({m.parameter_set for m in modules.values()})),
        size_m=_size_m(poses, modules),
        mass_kg=mass_kg,
        weight_N=weight_N,
        buoyancy_N=buoyancy_N,
        inertia_kgm2=np.asarray(rigid)[3:, 3:],
        cg_m=cg,
        cb_m=_centre_of_buoyancy(poses, modules, weight_N * cg, buoyancy_N),
        added_mass=np.asarray(added),
        linear_damping=np.asarray(sum(twists[n].T @ m.linear_damping @ twists[n] for n, m in modules.items())),
        quadratic_damping=np.diag([_drag_along(axis, hulls) for axis in range(6)]),
        heave_dive=None,
        heave_rise=None,
        added_mass_coriolis=True,
        thrusters=tuple(_moved(t, name, poses[name]) for name, m in modules.items() for t in m.thrusters),
        hulls=hulls,
        waterplane=waterplane,
        waterplane_coupling=coupling,
        ports=tuple(_moved_port(p, name, poses[name]) for name, m in modules.items() for p in m.ports),
    )


def _waterplane(poses: Mapping[str, Pose], modules: Mapping[str, Vehicle]) -> tuple[Array, Array] | tuple[None, None]:
    """Energies add up: with z_i = z + p_i·d and d_i = R_iᵀ d each is a quadratic form of (z, d), and so is their sum.

    d·d = 1, so that Q_zz may be taken off the whole diagonal: it is a constant, and moves nothing.
    """
    if all(m.waterplane is None for m in modules.values()):
        return None, None
    heave, s, q = 0.0, np.zeros(3), np.zeros((3, 3))
    for name, module in modules.items():
        if module.waterplane is None:
            continue
        k, roll, pitch = module.waterplane.tolist()
        own_s, own_q = np.zeros(3), np.diag([pitch, roll, 0.0])
        if (own := module.waterplane_coupling) is not None:  # an assembly itself
            own_s, (xy, xz, yz) = own[:3], own[3:].tolist()
            own_q += np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])
        p, turn = poses[name].position_m, matrix(poses[name].attitude)
        cross = np.outer(p, turn @ own_s)
        heave += k
        s += k * p + turn @ own_s
        q += turn @ own_q @ turn.T + k * np.outer(p, p) + cross + cross.T
    q -= q[2, 2] * np.eye(3)
    return np.array([heave, q[1, 1], q[0, 0]]), np.array([*s, q[0, 1], q[0, 2], q[1, 2]])


def _centre_of_buoyancy(
    poses: Mapping[str, Pose], modules: Mapping[str, Vehicle], weight_moment: Array, buoyancy_N: float
) -> Array:
    """Where all buoyancy acts. If weight and mass are not spread alike, the difference is put here as well."""
    moment = weight_moment.copy()
    for name, m in modules.items():
        place, turn = poses[name].position_m, matrix(poses[name].attitude)
        moment += m.buoyancy_N * (place + turn @ m.cb_m) - m.weight_N * (place + turn @ m.cg_m)
    return np.asarray(moment / buoyancy_N)


def _hulls(pose: Pose, module: Vehicle) -> list[Hull]:
    own = module.hulls or (Hull(np.zeros(3), np.eye(3), module.linear_damping, module.quadratic_damping),)
    turn = matrix(pose.attitude)
    return [
        replace(h, position_m=pose.position_m + turn @ h.position_m, rotation=turn @ h.rotation) for h in own
    ]  # fmt: skip


def _drag_along(axis: int, hulls: Iterable[Hull]) -> float:
    """Quadratic drag of a unit velocity along one axis, on that axis."""
    unit, total = np.eye(6)[axis], 0.0
    for hull in hulls:
        x, y, z = hull.position_m.tolist()
        lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        twist = np.block([[hull.rotation.T, -hull.rotation.T @ lever], [np.zeros((3, 3)), hull.rotation.T]])
        own = twist @ unit
        total += float(own @ hull.quadratic_damping @ (np.abs(own) * own))
    return total


def _moved(thruster: Thruster, module: str, pose: Pose) -> Thruster:
    turn = matrix(pose.attitude)
    return replace(
        thruster,
        name=f"{module}/{thruster.name}",
        position_m=pose.position_m + turn @ thruster.position_m,
        direction=turn @ thruster.direction,
        axis=turn @ thruster.axis,
    )


def _moved_port(port: Port, module: str, pose: Pose) -> Port:
    turn = matrix(pose.attitude)
    return replace(
        port,
        name=f"{module}/{port.name}",
        place_m=pose.position_m + turn @ port.place_m,
        direction=turn @ port.direction,
        up=turn @ port.up,
        camera=port.camera
        and replace(port.camera, place_m=pose.position_m + turn @ port.camera.place_m, axis=turn @ port.camera.axis),
        marker=port.marker
        and replace(
            port.marker, place_m=pose.position_m + turn @ port.marker.place_m, normal=turn @ port.marker.normal
        ),
    )


def _size_m(poses: Mapping[str, Pose], modules: Mapping[str, Vehicle]) -> tuple[float, float, float]:
    """Of a box around all modules, along the composite's axes."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    points = np.vstack(
        [poses[n].position_m + corners * np.array(m.size_m) @ matrix(poses[n].attitude).T for n, m in modules.items()]
    )
    x, y, z = (points.max(axis=0) - points.min(axis=0)).tolist()
    return x, y, z
