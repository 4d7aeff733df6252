"""How teleop commands the fleet: `/fleet/cmd_vel` and `/fleet/set_mode`."""

from __future__ import annotations

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from std_msgs.msg import String

from shoal.messages import topics
from shoal_ros import convert, endpoints, process
from shoal_teleop.sticks import Velocity


class CommandPublisher:
    """One for each node that commands the setpoint."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._cmd_vel, self._set_mode = (
            endpoints.publisher(node, topics.CMD_VEL),
            endpoints.publisher(node, topics.SET_MODE),
        )

    def velocity(self, velocity: Velocity | None) -> None:
        """Nothing for None."""
        if velocity is None:
            return
        message = TwistStamped()
        message.header.stamp, message.header.frame_id = self._node.get_clock().now().to_msg(), convert.WORLD
        linear = message.twist.linear
        linear.x, linear.y, linear.z = velocity.east_mps, velocity.north_mps, velocity.up_mps
        message.twist.angular.z = velocity.yaw_radps
        self._cmd_vel.publish(message)

    def last(self, velocity: Velocity | None) -> None:
        """Before the node goes: a publisher that is gone sends nothing again."""
        if velocity is not None:
            self.velocity(velocity)
            process.flush([self._cmd_vel], wall_s=1.0)

    def mode(self, name: str) -> None:
        """Ask for a mode."""
        self._set_mode.publish(String(data=name))
