"""Attach and detach on ROS: orders in, the present assembly out, latched and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from shoal.assembly.joints import Joint
from shoal.errors import ShoalError
from shoal.frames import matrix
from shoal.messages import topics
from shoal.messages.joining import DrawnJoint, Joining
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.assembly_json import joining_from_json, joining_to_json
from shoal.simulation.world import World
from shoal_ros import endpoints
from shoal_ros.parameters import declare

PARAMETER = "joints"


class Joints:
    """The plant's latches.

    * `/fleet/set_assembly` (String, JSON): all joints that there shall be, as drawn; a higher counter than the present.
    * parameter `joints`, for a person: `ros2 param set /dynamics joints "a+b, b+c"`. What is new is joined as it lies
      and drawn as measured; the answer says why not.
    * `/fleet/assembly` (String, JSON, latched): what is joined now.
    """

    def __init__(self, node: Node, world: Callable[[], World]) -> None:
        self._node, self._world = node, world
        self.present = Joining(0)
        declare(node, PARAMETER, "", "pairs that are joined, 'a+b, b+c'; setting it attaches and detaches",
                read_only=False)  # fmt: skip
        self._out = endpoints.publisher(node, topics.ASSEMBLY)
        endpoints.subscription(node, topics.SET_ASSEMBLY, self._on_order)
        node.add_on_set_parameters_callback(self._on_parameters)
        self._publish()

    def world_is_new(self) -> None:
        """After a reset nobody is joined."""
        self.present = Joining(self.present.counter + 1)
        self._publish()

    def closed(self, joint: DrawnJoint) -> None:
        """A latch has closed, and its port tells so."""
        self._show(replace(self.present, counter=self.present.counter + 1, joints=(*self.present.joints, joint)))

    def open(self, a: str, b: str) -> None:
        """A latch, if it is closed."""
        if any(joint.pair == {a, b} for joint in self.present.joints):
            self._carry_out(replace(self.present.without(frozenset((a, b))), counter=self.present.counter + 1))

    def _on_order(self, message: String) -> None:
        try:
            order = joining_from_json(message.data, topics.SET_ASSEMBLY.name)
            if order.counter > self.present.counter:
                self._carry_out(order)
        except ShoalError as error:
            self._node.get_logger().error(f"{topics.SET_ASSEMBLY.name}: {error}")

    def _on_parameters(self, changed: list[Parameter]) -> SetParametersResult:
        for parameter in changed:
            if parameter.name == PARAMETER and parameter.value != self._text():
                try:
                    self._carry_out(self._as_they_lie(str(parameter.value)), by_parameter=True)
                except ShoalError as error:
                    return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _as_they_lie(self, text: str) -> Joining:
        pairs = [tuple(name.strip() for name in pair.split("+")) for pair in text.split(",") if pair.strip()]
        if any(len(pair) != 2 for pair in pairs):
            raise ShoalError(f"{PARAMETER} = '{text}'; expected pairs like 'a+b, b+c'")
        known = {joint.pair: joint for joint in self.present.joints}
        joints = tuple(known.get(frozenset(p)) or self._measured(*p) for p in pairs)
        return Joining(self.present.counter + 1, joints)

    def _measured(self, a: str, b: str) -> DrawnJoint:
        """Halfway between two, by the odometry they have: nobody knows better."""
        world = self._world()
        for name in (a, b):
            if name not in world.names:
                raise ShoalError(f"{PARAMETER}: '{name}' is unknown; expected one of {', '.join(world.names)}")
        odometry = world.newest_odometry()
        of_a, of_b = odometry[a], odometry[b]
        if of_a is None or of_b is None:
            raise ShoalError(f"{PARAMETER}: {a} or {b} has no odometry yet; expected it first")
        half = matrix(of_a.state[ATTITUDE]).T @ (of_b.state[POSITION] - of_a.state[POSITION]) / 2
        found = Joint.between(a, b, of_a.state, of_b.state, np.asarray(half))
        return DrawnJoint(a, b, found.at_a_m, found.at_b_m, found.attitude)

    def _carry_out(self, order: Joining, by_parameter: bool = False) -> None:
        if (world := self._world()).connectors is not None:
            world.carry_out(order)  # magnets catch by themselves
        else:
            world.set_joints([(j.a, j.b, j.at_a_m) for j in order.joints])  # may refuse, then nothing changes
        self._show(order, by_parameter)

    def _show(self, present: Joining, by_parameter: bool = False) -> None:
        before, self.present = self._text(), present
        self._publish()
        if self._text() != before:
            self._node.get_logger().info(f"assembly {present.counter}: {self._text() or 'nobody is joined'}")
            if not by_parameter:
                self._node.set_parameters([Parameter(PARAMETER, value=self._text())])

    def _text(self) -> str:
        return ", ".join(f"{j.a}+{j.b}" for j in self.present.joints)

    def _publish(self) -> None:
        self._out.publish(String(data=joining_to_json(self.present)))
