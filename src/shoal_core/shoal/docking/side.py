"""One side of a docking: a vehicle's port, on the vehicle itself or on the group of joined vehicles that moves it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import Composite
from shoal.assembly.joints import Pose
from shoal.docking.ports_by_name import port_of
from shoal.frames import matrix, multiply
from shoal.messages.relative_pose import FiducialPose
from shoal.vehicles.ports import Port

Array = NDArray[np.float64]
CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


@dataclass(frozen=True)
class Side:
    """One of the two. What moves is a body: the vehicle's own, or the composite's of its group."""

    name: str  # of the vehicle that carries the port
    port: Port  # in the frame of the body that moves
    members: tuple[str, ...] = ()  # of the group; empty: it swims alone
    pose: Pose | None = None  # the vehicle in the group's frame

    @property
    def senders(self) -> tuple[str, ...]:
        """Whose plan may be that of this side: one of a group speaks for all."""
        return self.members or (self.name,)

    def seen_from(self, sighting: FiducialPose) -> FiducialPose:
        """What our vehicle's camera has found, in the frame of our body."""
        if self.pose is None:
            return sighting
        turn = matrix(self.pose.attitude)
        covariance = sighting.covariance.copy()
        covariance[:3, :] = turn @ covariance[:3, :]
        covariance[:, :3] = covariance[:, :3] @ turn.T
        place = self.pose.position_m + turn @ sighting.marker_m
        return FiducialPose(sighting.stamp_s, place, multiply(self.pose.attitude, sighting.attitude), covariance)

    def seen_as(self, sighting: FiducialPose) -> FiducialPose:
        """What was found of this side's vehicle, with its body's attitude: R' = R_vehicle Rᵀ, δ' = R δ_vehicle."""
        if self.pose is None:
            return sighting
        turn = matrix(self.pose.attitude)
        covariance = sighting.covariance.copy()
        covariance[3:, :] = turn @ covariance[3:, :]
        covariance[:, 3:] = covariance[:, 3:] @ turn.T
        attitude = multiply(sighting.attitude, self.pose.attitude * CONJUGATE)
        return replace(sighting, attitude=attitude, covariance=covariance)


def side_of(vehicle: str, ports: tuple[Port, ...], name: str, group: Composite | None) -> Side:
    """`ports`: the vehicle's own. A ShoalError where it has no such port."""
    port = port_of(vehicle, ports, name)
    if group is None:
        return Side(vehicle, port)
    moved = next(p for p in group.vehicle.ports if p.name == f"{vehicle}/{name}")
    return Side(vehicle, moved, tuple(group.poses), group.poses[vehicle])
