"""One status line of a node on `/diagnostics`: at once when it changes, now and then otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from shoal.messages import topics
from shoal_ros.convert import to_stamp
from shoal_ros.endpoints import publisher


class Level(IntEnum):
    """As in diagnostic_msgs."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


class Diagnostics:
    """`report` as often as you like; it goes out when level or message change, and every `every_s` seconds."""

    def __init__(self, node: Node, name: str, hardware_id: str, every_s: float = 1.0) -> None:
        self._node, self._name, self._hardware_id, self._every_s = node, f"shoal: {name}", hardware_id, every_s
        self._publisher = publisher(node, topics.DIAGNOSTICS)
        self._last: tuple[Level, str] | None = None
        self._sent_s = float("-inf")

    def due(self, t_s: float, level: Level, message: str) -> bool:
        """Whether `report` would send it now: lets a caller spare itself the values."""
        waited_s = t_s - self._sent_s
        return (level, message) != self._last or waited_s >= self._every_s or waited_s < 0

    def report(self, t_s: float, level: Level, message: str, values: Mapping[str, object]) -> None:
        """Send it, and log it when it is the first, or the level a new one."""
        if not self.due(t_s, level, message):
            return
        self._log(level, message)
        self._last, self._sent_s = (level, message), t_s
        status = DiagnosticStatus(
            level=bytes([level]), name=self._name, message=message, hardware_id=self._hardware_id,
            values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
        )  # fmt: skip
        array = DiagnosticArray(status=[status])
        array.header.stamp = to_stamp(t_s)
        self._publisher.publish(array)

    def _log(self, level: Level, message: str) -> None:
        if self._last is not None and level == self._last[0]:
            return
        # One call site per severity: rclpy refuses a site that changes it.
        if level is Level.OK:
            self._node.get_logger().info(message)
        elif level is Level.WARN:
            self._node.get_logger().warning(message)
        else:
            self._node.get_logger().error(message)


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
