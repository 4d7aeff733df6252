"""A pilot's topics at the autopilot: messages in, active levels out."""

from __future__ import annotations

from rclpy.node import Node
from std_msgs.msg import String

from shoal.autopilot.autopilot import AutopilotController
from shoal.autopilot.levels import Levels
from shoal.errors import ShoalError
from shoal.messages import topics
from shoal.messages.pilot import pilot_from_json
from shoal_ros import endpoints


class PilotEndpoints:
    """`show` after each step."""

    def __init__(self, node: Node, vehicle: str, autopilot: AutopilotController) -> None:
        self._node, self._autopilot = node, autopilot
        self.shown: Levels | None = None
        self._levels = endpoints.publisher(node, topics.LEVELS, vehicle=vehicle)
        endpoints.subscription(node, topics.PILOT, self._on_pilot, vehicle=vehicle)
        self.show()

    def _on_pilot(self, message: String) -> None:
        try:
            # Stamped on arrival: a front end's clock may be anybody's.
            self._autopilot.on_pilot(pilot_from_json(message.data, self._node.get_clock().now().nanoseconds * 1e-9))
        except ShoalError as error:
            self._node.get_logger().error(str(error), throttle_duration_sec=1.0)

    def show(self) -> None:
        """Once for each change."""
        if self._autopilot.levels != self.shown:
            self.shown = self._autopilot.levels
            self._levels.publish(String(data=self.shown.to_json()))
            self._node.get_logger().info(f"levels: {self.shown}")
