"""How teleop commands the fleet: `/fleet/cmd_vel` and `/fleet/set_mode`."""

from __future__ import annotations

import os
import time

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from std_msgs.msg import String

from shoal.messages import topics
from shoal_ros import convert, endpoints, process
from shoal_teleop.sticks import Velocity

LISTEN_WALL_S = 3.0  # discovery takes its time


class CommandPublisher:
    """One for each node that commands the setpoint. `check` says when nobody listens, and when somebody does."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._cmd_vel, self._set_mode = (
            endpoints.publisher(node, topics.CMD_VEL),
            endpoints.publisher(node, topics.SET_MODE),
        )

        self._born_s = time.monotonic()
        self._heard: bool | None = None

    def check(self) -> str:
        """A sentence when it has changed whether anybody listens; else empty. Call it again and again."""
        listening = self._cmd_vel.get_subscription_count() > 0
        if listening == self._heard or (not listening and time.monotonic() - self._born_s < LISTEN_WALL_S):
            return ""
        self._heard = listening
        if listening:
            return "the fleet listens"
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        return f"nobody listens on {topics.CMD_VEL.name} in ROS_DOMAIN_ID={domain}; expected a fleet's guidance"

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
