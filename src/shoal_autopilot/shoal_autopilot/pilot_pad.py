"""The `pilot_pad` node: sensor_msgs/Joy in, a pilot's sticks out. A pad that falls silent leaves the pilot silent."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import Joy

from shoal.messages import topics
from shoal_autopilot.pilot_publisher import PilotPublisher
from shoal_autopilot.sticks import PadPilot
from shoal_ros import endpoints, process
from shoal_ros.parameters import declare
from shoal_teleop.layout import load_layout


class PilotPad(Node):
    """One message for each of the pad's, so that a pad pulled out counts as a pilot who is gone."""

    def __init__(self, **options: Any) -> None:
        super().__init__("pilot_pad", **options)
        layout = declare(self, "layout", "xbox", "joystick file, or the name of one in config/joysticks")
        self._pad, self._pilot = PadPilot(load_layout(layout)), PilotPublisher(self)
        endpoints.subscription(self, topics.JOY, self._on_joy)

    def _on_joy(self, message: Joy) -> None:
        self._pilot.send(self._pad.message(message.axes, message.buttons))

    def close(self) -> None:
        """Let go."""
        self._pilot.last()


def main() -> None:
    """`ros2 run shoal_autopilot pilot_pad`."""
    process.run(PilotPad)


if __name__ == "__main__":
    main()
