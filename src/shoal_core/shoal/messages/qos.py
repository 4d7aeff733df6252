"""Quality of service by name: reliable for what must arrive, best effort for what soon comes again. No ROS."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Qos:
    """The part of a QoS profile that we choose; the history is always the last `depth` messages."""

    reliable: bool
    depth: int
    latched: bool = False  # transient local: who subscribes later gets the last ones

    def __str__(self) -> str:
        words = ["reliable" if self.reliable else "best effort"]
        return ", ".join([*words, *(["transient local"] if self.latched else []), f"depth {self.depth}"])


PROFILES: dict[str, Qos] = {
    "clock": Qos(reliable=False, depth=1),  # only the newest time matters; what rclpy itself subscribes with
    "sensor": Qos(reliable=False, depth=5),  # as rclpy's qos_profile_sensor_data: any sensor driver fits
    "command": Qos(reliable=True, depth=5),  # thrust; the receiver takes the newest
    "latest": Qos(reliable=True, depth=1),  # must arrive, but an older one is worthless
    "reliable": Qos(reliable=True, depth=10),  # requests: each one counts
    "events": Qos(reliable=True, depth=10),
    "latched": Qos(reliable=True, depth=1, latched=True),  # late joiners get the last message
    # Of many publishers: a queue of one would keep the state of one of them and lose the rest.
    "latched_by_many": Qos(reliable=True, depth=64, latched=True),
    "display": Qos(reliable=False, depth=1),  # for eyes and plots
    "tf": Qos(reliable=True, depth=100),  # as tf2_ros publishes it
}
