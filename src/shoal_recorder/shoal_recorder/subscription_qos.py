"""QoS that fits all publishers of a topic one knows nothing of, and QoS as rosbag2 writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from shoal_ros import endpoints

DEPTH = 500  # messages that may wait while a chunk is compressed
FOREVER_NS = 2**63 - 1


def fitting_qos(offered: Sequence[QoSProfile]) -> QoSProfile:
    """The strongest that every publisher can serve: what none of them would be refused for."""
    reliable = all(q.reliability == ReliabilityPolicy.RELIABLE for q in offered)
    latched = all(q.durability == DurabilityPolicy.TRANSIENT_LOCAL for q in offered)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def qos_yaml(offered: Sequence[QoSProfile]) -> str:
    """`offered_qos_profiles` of rosbag2 (version 9)."""
    return str(yaml.safe_dump([_entry(q) for q in offered], sort_keys=False)).strip()


def message_class(kind: str) -> Any | None:
    """Of `nav_msgs/msg/Odometry`; None where its package is not installed."""
    package, _, name = kind.split("/")
    try:
        return endpoints.message_class(f"{package}/{name}")
    except (ImportError, AttributeError):
        return None


def _entry(q: QoSProfile) -> dict[str, Any]:
    return {
        "history": q.history.name.lower(),
        "depth": q.depth,
        "reliability": q.reliability.name.lower(),
        "durability": q.durability.name.lower(),
        "deadline": _time(q.deadline),
        "lifespan": _time(q.lifespan),
        "liveliness": q.liveliness.name.lower(),
        "liveliness_lease_duration": _time(q.liveliness_lease_duration),
        "avoid_ros_namespace_conventions": bool(q.avoid_ros_namespace_conventions),
    }


def _time(duration: Duration) -> dict[str, int]:
    nanoseconds = duration.nanoseconds or FOREVER_NS
    return {"sec": nanoseconds // 10**9, "nsec": nanoseconds % 10**9}
