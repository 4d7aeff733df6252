"""The `pilot_csv` node: plays a dive from a CSV file to the autopilot, line by line in ROS time (Ng 2024's csv_reader).

Roll, pitch and yaw are guided to the file's angles, surge, sway and heave driven by its efforts; at the end the node
ends, and the autopilot holds or goes to neutral as for any pilot who falls silent.
"""

from __future__ import annotations

from typing import Any

import rclpy
from rclpy.node import Node

from shoal.autopilot.dive import load_dive, pilot_message
from shoal.errors import ShoalError
from shoal_autopilot.pilot_publisher import PilotPublisher
from shoal_ros import process
from shoal_ros.parameters import declare


class PilotCsv(Node):
    """From the moment at which the clock runs and somebody listens."""

    def __init__(self, **options: Any) -> None:
        super().__init__("pilot_csv", **options)
        course = declare(self, "course", "pilot", "dive: CSV file, or the name of one in config/dives")
        rate_hz = declare(self, "rate_hz", 20.0, "Hz, messages a second", low=4.0, high=100.0)
        self._dive, self._pilot = load_dive(course), PilotPublisher(self)
        if self._dive.duration_s <= 0:
            raise ShoalError(f"course = '{course}': lasts {self._dive.duration_s:g} s; expected more than 0")
        self._started_s: float | None = None
        self.create_timer(1.0 / rate_hz, self._play)

    def _play(self) -> None:
        now_s = self.get_clock().now().nanoseconds * 1e-9
        if self._started_s is None:
            if now_s <= 0 or not self._pilot.listened_to:
                return
            self._started_s = now_s
            self.get_logger().info(f"{self._pilot.vehicle}: dive of {self._dive.duration_s:g} s begins")
        t_s = now_s - self._started_s
        if t_s > self._dive.duration_s:
            self.get_logger().info("the dive is over")
            self.close()
            rclpy.try_shutdown(context=self.context)
            return
        self._pilot.send(pilot_message(self._dive, t_s))

    def close(self) -> None:
        """Let go."""
        self._pilot.last()


def main() -> None:
    """`ros2 run shoal_autopilot pilot_csv`."""
    process.run(PilotCsv)


if __name__ == "__main__":
    main()
