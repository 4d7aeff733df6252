"""The `joystick` node: a pad to sensor_msgs/Joy, for machines without the `joy` package."""

from __future__ import annotations

from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import Joy

from shoal.messages import topics
from shoal_ros import endpoints, process
from shoal_ros.parameters import declare
from shoal_teleop.pad import Pad


class JoystickNode(Node):
    """Repeats the same again and again, so that silence means unplugged. A pad may come late, go and come back."""

    def __init__(self, pad: Pad | None = None, **options: Any) -> None:
        super().__init__("joystick", **options)
        number = declare(self, "device", 0, "which pad, counted from 0", low=0, high=15)
        rate_hz = declare(self, "rate_hz", 20.0, "Hz of wall time", low=5.0, high=200.0)
        self._pad = Pad(number) if pad is None else pad
        self._name: str | None = None
        self._joy = endpoints.publisher(self, topics.JOY)
        self.create_timer(1.0 / rate_hz, self._read, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _read(self) -> None:
        reading = self._pad.read()
        if self._pad.name != self._name:
            self._name = self._pad.name
            self.get_logger().info(f"pad: {self._name}" if self._name else "no pad: waiting for one")
        if reading is not None:
            message = Joy(axes=reading.axes, buttons=reading.buttons)
            message.header.stamp = self.get_clock().now().to_msg()
            message.header.frame_id = "joy"
            self._joy.publish(message)

    def close(self) -> None:
        """Give the device back."""
        self._pad.close()


def main() -> None:
    """Entry point."""
    process.run(JoystickNode)


if __name__ == "__main__":
    main()
