"""QoS profiles by name. Reliable for what must arrive, best effort for what is soon repeated."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _profile(reliable: bool, depth: int, latched: bool = False) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


CLOCK = _profile(reliable=False, depth=1)  # only the newest time matters; what rclpy itself subscribes with
SENSOR = _profile(reliable=False, depth=5)  # as rclpy's qos_profile_sensor_data: any sensor driver fits
COMMAND = _profile(reliable=True, depth=5)  # thrust; the receiver takes the newest
LATEST = _profile(reliable=True, depth=1)  # must arrive, but an older one is worthless
RELIABLE = _profile(reliable=True, depth=10)  # requests: each one counts
EVENTS = _profile(reliable=True, depth=10)
LATCHED = _profile(reliable=True, depth=1, latched=True)  # late comers get the last word
# To subscribe to a latched topic of many publishers: a queue of one would keep one of them and lose the rest.
LATCHED_BY_MANY = _profile(reliable=True, depth=64, latched=True)
DISPLAY = _profile(reliable=False, depth=1)  # for eyes and plots
TF = _profile(reliable=True, depth=100)  # as tf2_ros publishes it

PROFILES: dict[str, QoSProfile] = {
    "clock": CLOCK,
    "sensor": SENSOR,
    "command": COMMAND,
    "latest": LATEST,
    "reliable": RELIABLE,
    "events": EVENTS,
    "latched": LATCHED,
    "display": DISPLAY,
    "tf": TF,
}


def describe(name: str) -> str:
    """For the docs: `best effort, depth 5`."""
    profile = PROFILES[name]
    words = ["reliable" if profile.reliability == ReliabilityPolicy.RELIABLE else "best effort"]
    if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
        words.append("transient local")
    return ", ".join([*words, f"depth {profile.depth}"])
