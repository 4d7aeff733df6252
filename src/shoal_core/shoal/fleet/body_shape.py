"""What a vehicle of the fleet file looks like: hull boxes of its modules, joints, ports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.file import load_assembly
from shoal.assembly.joints import SAME, Pose
from shoal.fleet.file import Member
from shoal.frames import matrix
from shoal.vehicles.ports import Port

Array = NDArray[np.float64]
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


@dataclass(frozen=True)
class Module:
    """One hull, as a box around its body frame."""

    name: str
    pose: Pose  # in the vehicle's body frame
    size_m: tuple[float, float, float]

    @property
    def corners_m(self) -> Array:
        """(8,3) in the vehicle's body frame."""
        return np.asarray(self.pose.position_m + (CORNERS * self.size_m) @ matrix(self.pose.attitude).T)


@dataclass(frozen=True)
class BodyShape:
    """Body frame FRD throughout."""

    modules: tuple[Module, ...]
    joints_m: Array  # (K,3) places of an assembly's joints
    ports: tuple[Port, ...]  # free ones

    @property
    def size_m(self) -> tuple[float, float, float]:
        """Of a single hull; of an assembly that of its first module."""
        return self.modules[0].size_m

    @property
    def joined(self) -> bool:
        """An assembly."""
        return len(self.modules) > 1

    @property
    def reach_m(self) -> float:
        """From the origin to the farthest corner, seen from above."""
        return float(max(np.hypot(m.corners_m[:, 0], m.corners_m[:, 1]).max() for m in self.modules))


def shape_of(member: Member) -> BodyShape:
    """By the fleet file's vehicle type or assembly."""
    vehicle = member.vehicle()
    if member.assembly is None:
        return BodyShape((Module(member.name, SAME, vehicle.size_m),), np.zeros((0, 3)), vehicle.ports)
    file = load_assembly(member.assembly)
    graph, poses = file.assembly(), file.composite().poses
    modules = tuple(Module(name, poses[name], described.size_m) for name, described in graph.modules.items())
    joints = [poses[j.a].position_m + matrix(poses[j.a].attitude) @ j.at_a_m for j in graph.joints]
    return BodyShape(modules, np.array(joints).reshape(-1, 3), vehicle.ports)
