"""Ports of the simulated vehicles on ROS: orders arm them, cameras publish what they find, latches join."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import String

from shoal.docking.pilot import level_heading_rad
from shoal.errors import ShoalError
from shoal.frames import from_yaw
from shoal.messages import topics
from shoal.messages.docking import DockingOrder
from shoal.messages.joining import DrawnJoint
from shoal.recordings.docking_json import order_from_json
from shoal.simulation.docks import Latch
from shoal.simulation.world import World
from shoal_dynamics.joints import Joints
from shoal_ros import convert, endpoints


class Ports:
    """`/fleet/set_docking`: dock arms the two ports, cancel and STOP disarm them, undock opens the latch."""

    def __init__(self, node: Node, world: Callable[[], World], joints: Joints) -> None:
        self._node, self._world, self._joints = node, world, joints
        self._counter = 0
        self._told: set[float] = set()  # latches, by their time
        self._out: dict[tuple[str, str], Publisher] = {}
        endpoints.subscription(node, topics.SET_DOCKING, self._on_order)

    def _on_order(self, message: String) -> None:
        try:
            order = order_from_json(message.data)
        except ShoalError as error:
            self._node.get_logger().error(str(error))
            return
        try:
            if order.counter > self._counter:
                self._counter = order.counter
                self._carry_out(order)
        except ShoalError as error:
            self._node.get_logger().error(f"{topics.SET_DOCKING.name}: {error}")

    def _carry_out(self, order: DockingOrder) -> None:
        docks = self._world().docks
        if order.action == "dock":
            docks.open(order.leader, order.leader_port, order.follower, order.follower_port)
        elif order.action == "cancel":
            docks.disarm(order.leader, order.follower)
        else:
            self._joints.open(order.leader, order.follower)

    def publish_sightings(self, stopped: bool) -> None:
        """Before the odometry that they go with: a controller reads them when it steps."""
        docks = self._world().docks
        if stopped:
            for dock in docks.all.values():
                docks.disarm(dock.leader, dock.follower)
        for name, found in docks.sightings(self._world().t_s).items():
            for other in {d.follower if name == d.leader else d.leader for d in docks.all.values() if name in d.pair}:
                out = self._out.get((name, other))
                if out is None:
                    out = endpoints.publisher(self._node, topics.FIDUCIAL, vehicle=name, other=other)
                    self._out[name, other] = out
                for sighting in found:
                    out.publish(convert.fiducial_to_message(sighting, name))

    def tell_latches(self) -> None:
        """After each tick: the latches tell that they have closed, as they are drawn."""
        for dock in self._world().docks.all.values():
            if dock.latch is not None and dock.latch.t_s not in self._told:
                self._told.add(dock.latch.t_s)
                self._joints.closed(self._drawn(dock.latch, dock.contacts.berth.port_first.name,
                                                dock.contacts.berth.port_second.name))  # fmt: skip
                self._say(dock.latch)

    def _say(self, latch: Latch) -> None:
        now = latch.mating
        self._node.get_logger().info(
            f"{latch.follower} has latched onto {latch.leader} at {latch.t_s:.2f} s: {now.speed_mps:.3f} m/s, "
            f"{now.angle_deg:.2f}°, {1e3 * now.lateral_m:.0f} mm aside"
        )

    def _drawn(self, latch: Latch, leader_port: str, follower_port: str) -> DrawnJoint:
        docks = self._world().docks
        a, b = docks.port(latch.leader, leader_port), docks.port(latch.follower, follower_port)
        return DrawnJoint(latch.leader, latch.follower, a.place_m, b.place_m, from_yaw(level_heading_rad(a, b)))
