"""Publishers and subscriptions straight from the table of topics: name, type and QoS cannot disagree with it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from shoal.messages.topics import Topic
from shoal_ros.qos import PROFILES


class Polled(CallbackGroup):
    """A group that no executor serves: its subscriptions are emptied with `take_all`, when it suits.

    An executor pays for every subscription each time it waits. A plant with eight thrusters a vehicle that moves on its
    own schedule anyway is far cheaper off polling.
    """

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


def message_class(type_name: str) -> Any:
    """`nav_msgs/Odometry` → the class."""
    package, _, name = type_name.partition("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)


def publisher(node: Node, topic: Topic, **names: str) -> Publisher:
    """`publisher(self, topics.ODOMETRY, vehicle="rov1")`.

    Without rclpy's watch for unfit QoS, which an executor pays for at each wait and publisher: forty of them took it
    3 ms a wait. Subscriptions that an executor serves keep theirs, so that an unfit pair is still reported at one end.
    """
    quiet = PublisherEventCallbacks(use_default_callbacks=False)
    kind = message_class(topic.type)
    return node.create_publisher(kind, topic.of(**names), PROFILES[topic.qos], event_callbacks=quiet)


def subscription(
    node: Node,
    topic: Topic,
    callback: Callable[[Any], None],
    group: CallbackGroup | None = None,
    raw: bool = False,
    **names: str,
) -> Subscription:
    """`subscription(self, topics.STOP, self._stop)`; raw: the callback gets bytes."""
    events = SubscriptionEventCallbacks(use_default_callbacks=not isinstance(group, Polled))
    return node.create_subscription(
        message_class(topic.type),
        topic.of(**names),
        callback,
        PROFILES[topic.qos],
        callback_group=group,
        event_callbacks=events,
        raw=raw,
    )


def polled(node: Node, topic: Topic, group: Polled, raw: bool = False, **names: str) -> Subscription:
    """A subscription to be emptied with `take_all`."""
    return subscription(node, topic, _never, group, raw, **names)


def _never(message: Any) -> None:
    raise AssertionError("no executor serves a polled subscription")


def take_all(waiting: Subscription) -> list[tuple[Any, dict[str, int]]]:
    """All new messages of a polled subscription, oldest first, with their time stamps in ns of the system clock."""
    taken = []
    with waiting.handle:
        while (one := waiting.handle.take_message(waiting.msg_type, waiting.raw)) is not None:
            taken.append(one)
    return taken
