"""What a task wants docked or undocked, ordered until both have heard it; how it goes, told to the task."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from rclpy.node import Node
from std_msgs.msg import String

from shoal.docking.part import spokesman
from shoal.errors import ShoalError
from shoal.messages import topics
from shoal.messages.docking import DockingFeedback, DockingOrder
from shoal.recordings.docking_json import order_to_json, status_from_json
from shoal_ros import endpoints


class DockingOrders:
    """Counts on from the newest order that any vehicle has heard of."""

    def __init__(self, node: Node, names: tuple[str, ...]) -> None:
        self._node = node
        self._last: DockingOrder | None = None
        self._heard: dict[str, DockingFeedback] = {}
        self._out = endpoints.publisher(node, topics.SET_DOCKING)
        for name in names:
            endpoints.subscription(node, topics.DOCKING, partial(self._on_status, name), vehicle=name)

    def _on_status(self, name: str, message: String) -> None:
        try:
            self._heard[name] = status_from_json(message.data, topics.DOCKING.of(vehicle=name))
        except ShoalError as error:
            self._node.get_logger().error(str(error), throttle_duration_sec=2.0)

    def order(self, order: DockingOrder | None) -> None:
        """Something new, or nothing; the last order is repeated until both have heard of it, or of another one."""
        if order is not None:
            newest = max((s.counter for s in self._heard.values()), default=0)
            before = 0 if self._last is None else self._last.counter
            self._last = replace(order, counter=max(newest, before) + 1)
        if self._last is None:
            return
        deaf = [n for n in (self._last.leader, self._last.follower) if self._counter_of(n) < self._last.counter]
        if deaf:
            self._out.publish(String(data=order_to_json(self._last)))

    def cancel(self) -> None:
        """What was ordered last, if it may still be under way."""
        if self._last is not None and self._last.action == "dock":
            self.order(replace(self._last, action="cancel"))

    def _counter_of(self, name: str) -> int:
        return self._heard[name].counter if name in self._heard else 0

    @property
    def feedback(self) -> DockingFeedback | None:
        """The word on the last order of whoever moves; None: it has not answered yet."""
        return None if self._last is None else spokesman(self._last, self._heard)

    @property
    def pair(self) -> frozenset[str]:
        """Who is to latch; empty: nobody."""
        if self._last is None or self._last.action != "dock":
            return frozenset()
        return frozenset((self._last.leader, self._last.follower))
