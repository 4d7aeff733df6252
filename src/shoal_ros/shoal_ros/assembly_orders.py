"""What a task wants joined or parted, ordered until it is done."""

from __future__ import annotations

from dataclasses import replace

from rclpy.node import Node
from std_msgs.msg import String

from shoal.errors import ShoalError
from shoal.messages import topics
from shoal.messages.joining import Joining
from shoal.recordings.assembly_json import joining_from_json, joining_to_json
from shoal_ros import endpoints


class AssemblyOrders:
    """Counts on from the present assembly, whoever has ordered that."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._order: Joining | None = None
        self.pairs: frozenset[frozenset[str]] = frozenset()  # that are joined
        self._present = self._last = 0  # counters: of what there is, and of our last order
        self._out = endpoints.publisher(node, topics.SET_ASSEMBLY)
        endpoints.subscription(node, topics.ASSEMBLY, self._on_assembly)

    def order(self, joining: Joining | None) -> None:
        """Something new, or nothing; the last order is repeated until it is carried out, or overtaken by another."""
        if joining is not None:
            self._last = max(self._present, self._last) + 1
            self._order = replace(joining, counter=self._last)
        if self._order is not None and self._present < self._order.counter:
            self._out.publish(String(data=joining_to_json(self._order)))

    def _on_assembly(self, message: String) -> None:
        try:
            present = joining_from_json(message.data)
            self._present, self.pairs = present.counter, frozenset(joint.pair for joint in present.joints)
        except ShoalError as error:
            self._node.get_logger().error(str(error), throttle_duration_sec=2.0)
