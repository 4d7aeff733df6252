"""Ports in Gazebo, from the vehicles' odometry: who is armed, what the ports' cameras find, and when a latch closes.

As the built-in plant does it, with the same cameras and the same catch, but for the contact: that is Gazebo's. No ROS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.docking.pilot import level_heading_rad
from shoal.docking.ports_by_name import port_of
from shoal.errors import ShoalError
from shoal.fleet.body_shape import shape_of
from shoal.fleet.file import Fleet
from shoal.frames import from_yaw
from shoal.messages.docking import DockingOrder
from shoal.messages.joining import DrawnJoint, Joining
from shoal.messages.relative_pose import FiducialPose
from shoal.simulation.camera import FiducialCamera
from shoal.simulation.conditions import FiducialSensor
from shoal.simulation.docks import camera_model, fiducial
from shoal.vehicles.ports import Port, caught, mating

Array = NDArray[np.float64]


@dataclass
class ArmedPair:
    """Two ports that may latch."""

    leader: str
    follower: str
    ports: tuple[Port, Port]
    cameras: dict[str, FiducialCamera]  # by the vehicle that looks


class PortWatch:
    """`present` is what is joined; whoever owns Gazebo's latches makes it so."""

    def __init__(self, fleet: Fleet, present: Joining | None = None, seed: int = 0) -> None:
        self._ports = {member.name: shape_of(member).ports for member in fleet.vehicles}
        self._seed, self._counter = seed, 0
        self._armed: dict[frozenset[str], ArmedPair] = {}
        self.present = present or Joining(0)

    def obey(self, order: DockingOrder) -> None:
        """Dock arms two ports, cancel disarms them, undock opens the latch. An order that is not newer is ignored."""
        if order.counter <= self._counter:
            return
        pair = frozenset((order.leader, order.follower))
        if order.action == "dock":
            self._armed[pair] = self._arm(order)
        else:
            self._armed.pop(pair, None)
            if order.action == "undock" and any(joint.pair == pair for joint in self.present.joints):
                self.present = self.present.without(pair)
        self._counter = order.counter

    def disarm(self) -> None:
        """Under a STOP nobody latches any more."""
        self._armed.clear()

    def follow(self, order: Joining) -> None:
        """An order that opens joints. One that would close some is refused: here only ports in contact are joined."""
        if order.counter <= self.present.counter:
            return
        here = {joint.pair for joint in self.present.joints}
        if new := [" + ".join(sorted(joint.pair)) for joint in order.joints if joint.pair not in here]:
            raise ShoalError(f"{', '.join(new)}: cannot be joined by order in Gazebo; expected to be docked")
        self.present = order

    def look(self, t_s: float, states: Mapping[str, Array]) -> dict[tuple[str, str], list[FiducialPose]]:
        """What the cameras of armed ports find, by (who looks, at whom)."""
        found: dict[tuple[str, str], list[FiducialPose]] = {}
        for armed in self._armed.values():
            for name, camera in armed.cameras.items():
                other = armed.follower if name == armed.leader else armed.leader
                if name in states and other in states and (seen := camera.look(t_s, states[name], states[other])):
                    found[name, other] = seen
        return found

    def close(self, states: Mapping[str, Array]) -> list[DrawnJoint]:
        """Latches that close now; they are in `present` from now on."""
        closed = []
        for pair, armed in list(self._armed.items()):
            if not pair <= states.keys():
                continue
            (a, b), (leader, follower) = armed.ports, (armed.leader, armed.follower)
            if caught(a, b, mating(a, states[leader], b, states[follower])):
                turn = from_yaw(level_heading_rad(a, b))
                closed.append(DrawnJoint(leader, follower, a.place_m, b.place_m, turn))
                del self._armed[pair]
        if closed:
            joints = (*self.present.joints, *closed)
            self.present = replace(self.present, counter=self.present.counter + 1, joints=joints)
        return closed

    def _arm(self, order: DockingOrder) -> ArmedPair:
        names = order.leader, order.follower
        for name in names:
            if name not in self._ports:
                raise ShoalError(f"docking: '{name}' is unknown; expected one of {', '.join(self._ports)}")
        a = port_of(order.leader, self._ports[order.leader], order.leader_port)
        b = port_of(order.follower, self._ports[order.follower], order.follower_port)
        sensor, cameras = FiducialSensor(), {}
        for number, (name, own, other) in enumerate(((names[0], a, b), (names[1], b, a))):
            if own.camera is not None and other.marker is not None:
                rng = np.random.default_rng([self._seed, 8, number])
                cameras[name] = FiducialCamera(camera_model(own, sensor), fiducial(other), rng)
        return ArmedPair(*names, (a, b), cameras)
