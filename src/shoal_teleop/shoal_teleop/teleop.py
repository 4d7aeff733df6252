"""The `teleop` node: sensor_msgs/Joy in, velocity of the setpoint out, as long as the dead-man button is held."""

from __future__ import annotations

import time
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Joy

from shoal.errors import ShoalError
from shoal.messages import topics
from shoal_ros import endpoints, process
from shoal_ros.parameters import declare
from shoal_teleop.layout import load_layout
from shoal_teleop.messages import CommandPublisher
from shoal_teleop.sticks import DeadMan, Sticks

CHECK_WALL_S = 0.05


class TeleopNode(Node):
    """Hands and pads live in wall time, whatever the simulation's clock does: silence is measured in it."""

    def __init__(self, **options: Any) -> None:
        super().__init__("teleop", **options)
        layout = declare(
            self, "layout", "xbox", "joystick file, or the name of one in config/joysticks", read_only=False
        )
        timeout_s = declare(self, "timeout_s", 0.5, "s, a pad silent for longer was let go of", low=0.1, high=5.0)
        self._sticks, self._dead_man = Sticks(load_layout(layout)), DeadMan(timeout_s)
        self._commands = CommandPublisher(self)
        endpoints.subscription(self, topics.JOY, self._on_joy)
        self.create_timer(CHECK_WALL_S, self._check, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.add_on_set_parameters_callback(self._change)

    def _on_joy(self, message: Joy) -> None:
        for mode in self._sticks.modes(message.buttons):
            self._commands.mode(mode)
        wanted = self._sticks.velocity(message.axes, message.buttons)
        self._commands.velocity(self._dead_man.update(time.monotonic(), wanted))

    def _check(self) -> None:
        if sentence := self._commands.check():
            self.get_logger().info(sentence)
        self._commands.velocity(self._dead_man.check(time.monotonic()))

    def _change(self, changed: list[Parameter]) -> SetParametersResult:
        for parameter in changed:
            if parameter.name == "layout":
                try:
                    self._sticks = Sticks(load_layout(str(parameter.value)))
                except ShoalError as error:
                    return SetParametersResult(successful=False, reason=str(error))
                self._commands.velocity(self._dead_man.release())
        return SetParametersResult(successful=True)

    def close(self) -> None:
        """Let go."""
        self._commands.last(self._dead_man.release())


def main() -> None:
    """Entry point."""
    process.run(TeleopNode)


if __name__ == "__main__":
    main()
