"""Who else publishes what only one node should."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

from shoal.messages.health import Code, Issue, Severity

WATCHDOGS = ("thrust_watchdog",)  # send zeros on the thrust topics, and only zeros


def second_publishers(node: Node, topics: Sequence[str]) -> tuple[Issue, ...]:
    """An issue for each topic with more than one publisher; it names their nodes."""
    found = []
    for topic in topics:
        if node.count_publishers(topic) < 2:
            continue
        infos = node.get_publishers_info_by_topic(topic)
        names = [f"{i.node_namespace.rstrip('/')}/{i.node_name}" for i in infos if i.node_name not in WATCHDOGS]
        if len(names) > 1:
            subject = f"{topic} ({', '.join(sorted(names))})"
            found.append(Issue(Code.TWO_PUBLISHERS, Severity.WARNING, subject, float(len(names))))
    return tuple(found)
