"""Node: Gazebo ticks once a physics step (1 kHz), and each tick wakes every Python node; this hands on fewer.

It never waits for a message: 200 times a second it takes the newest tick out of a queue of one and passes its bytes on,
unread. An executor would wake for all thousand and cost ten times as much.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from shoal_gazebo.bridge import RAW_CLOCK
from shoal_ros.process import Stop, finish, start


class ClockRelay(Node):
    """From /gazebo/clock to /clock."""

    def __init__(self) -> None:
        super().__init__("clock_relay", start_parameter_services=False)  # no one spins this node, see above
        limits = FloatingPointRange(from_value=10.0, to_value=1000.0, step=0.0)
        descriptor = ParameterDescriptor(
            description="Ticks a second (wall clock) at most.", floating_point_range=[limits], read_only=True
        )
        self.period_s = 1.0 / float(self.declare_parameter("max_rate_hz", 200.0, descriptor).value)
        # Reliable out, so that every kind of subscriber fits; best effort in: a lost tick is made good by the next.
        self.output = self.create_publisher(
            Clock, "/clock", QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        )
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.input = self.create_subscription(Clock, RAW_CLOCK, lambda _: None, newest, raw=True)

    def hand_on(self) -> None:
        """Pass the newest tick on, if there is one."""
        taken = self.input.handle.take_message(Clock, True)
        if taken is not None:
            self.output.publish(taken[0])


def main(args: Sequence[str] | None = None) -> None:
    """Entry point."""
    start(args)
    stop = Stop()
    node = ClockRelay()
    while not stop.asked:
        node.hand_on()
        time.sleep(node.period_s)
    finish(node)


if __name__ == "__main__":
    main()
