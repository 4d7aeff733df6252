"""The QoS profiles of `shoal.messages.qos` as rclpy wants them."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from shoal.messages import qos


def _profile(chosen: qos.Qos) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=chosen.depth,
        reliability=ReliabilityPolicy.RELIABLE if chosen.reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if chosen.latched else DurabilityPolicy.VOLATILE,
    )


PROFILES: dict[str, QoSProfile] = {name: _profile(chosen) for name, chosen in qos.PROFILES.items()}
DISPLAY = PROFILES["display"]
LATCHED_BY_MANY = PROFILES["latched_by_many"]
