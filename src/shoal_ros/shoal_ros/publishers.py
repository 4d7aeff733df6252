"""Who else publishes what only one node should."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

from shoal.messages.health import Code, Issue, Severity

WATCHDOGS = ("thrust_watchdog",)  # send zeros on the thrust topics, and only zeros

LOOK_S = 2.0  # between two looks: each asks the middleware


class PublisherWatch:
    """Looks now and then; `t_s` is ROS time."""

    def __init__(self, node: Node, topics: Sequence[str]) -> None:
        self._node, self._topics = node, topics
        self._looked_s = float("-inf")
        self._found: tuple[Issue, ...] = ()
        self.allowed: frozenset[str] = frozenset()  # nodes beside us that may publish, by full name

    def issues(self, t_s: float) -> tuple[Issue, ...]:
        """As of the last look."""
        if not 0 <= t_s - self._looked_s < LOOK_S:
            self._looked_s, self._found = t_s, second_publishers(self._node, self._topics, self.allowed)
        return self._found


def second_publishers(node: Node, topics: Sequence[str], allowed: frozenset[str] = frozenset()) -> tuple[Issue, ...]:
    """An issue for each topic with more than one publisher; it names their nodes."""
    found = []
    for topic in topics:
        if node.count_publishers(topic) < 2:
            continue
        infos = node.get_publishers_info_by_topic(topic)
        names = [f"{i.node_namespace.rstrip('/')}/{i.node_name}" for i in infos if i.node_name not in WATCHDOGS]
        own = node.get_fully_qualified_name()
        if len([name for name in names if name == own or name not in allowed]) > 1:
            subject = f"{topic} ({', '.join(sorted(names))})"
            found.append(Issue(Code.TWO_PUBLISHERS, Severity.WARNING, subject, float(len(names))))
    return tuple(found)
