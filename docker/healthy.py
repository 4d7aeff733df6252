"""Health check of a running fleet: simulation time moves on, and the first vehicle tells where it is.

python docker/healthy.py [VEHICLE [SECONDS]]      exit code 0 when well, 1 when not
"""

from __future__ import annotations

import sys
import time

import rclpy
from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock


def main(vehicle: str = "rov1", seconds: str = "8") -> int:
    """Listen for a while."""
    rclpy.init()
    node = rclpy.create_node("healthy")
    ticks: set[tuple[int, int]] = set()
    places: list[Odometry] = []
    topic = f"/{vehicle}/odometry"
    node.create_subscription(
        Clock, "/clock", lambda m: ticks.add((m.clock.sec, m.clock.nanosec)), qos_profile_sensor_data
    )
    node.create_subscription(Odometry, topic, places.append, qos_profile_sensor_data)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end and (len(ticks) < 2 or not places):
        rclpy.spin_once(node, timeout_sec=0.2)
    well = len(ticks) >= 2 and bool(places)
    print(f"{'well' if well else 'not well'}: {len(ticks)} ticks of /clock, {len(places)} messages on {topic}")
    node.destroy_node()
    rclpy.shutdown()
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
