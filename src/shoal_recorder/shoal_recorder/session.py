"""One recording: the subscriptions it drains and the file it fills."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from shoal.errors import ShoalError
from shoal.messages import topics
from shoal.recordings.bag_metadata import Notes
from shoal.recordings.bag_writer import BagWriter
from shoal_recorder.subscription_qos import fitting_qos, message_class, qos_yaml
from shoal_recorder.times import ArrivalTimes, ClockSteps
from shoal_ros import endpoints

TICKS_WAITING = 1000  # of the clock between two looks; at full speed a tick takes some milliseconds


class Session:
    """Subscriptions are polled: an executor that wakes for each of a hundred topics costs more than a look at all."""

    def __init__(self, node: Node, folder: Path, chosen: Callable[[str], bool], notes: Notes) -> None:
        self._node, self._chosen = node, chosen
        self.bag = BagWriter(folder, notes)
        self._group = endpoints.Polled()
        self._subscriptions: dict[str, tuple[Any, Any]] = {}  # topic: subscription, QoS
        self._publishers: dict[str, int] = {}
        self._refused: set[str] = set()
        self._simulated = bool(node.get_parameter("use_sim_time").value)
        self._times = ArrivalTimes()
        self._steps, self._clock = ClockSteps(), None
        if self._simulated and bool(node.get_parameter("lockstep").value):
            every_tick = QoSProfile(depth=TICKS_WAITING, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._clock = node.create_subscription(
                Clock, topics.CLOCK.name, _never, every_tick, callback_group=self._group
            )
        self._early: list[tuple[str, bytes]] = []  # came before simulated time did
        self._flushed_s = time.monotonic()

    # -- what is there ------------------------------------------------------------------------------------------

    def discover(self) -> None:
        """Subscribe to topics that have publishers and no subscription of ours yet, or not one that fits any more."""
        for topic, kinds in self._node.get_topic_names_and_types():
            count = self._node.count_publishers(topic)
            if not count or self._publishers.get(topic) == count or not self._chosen(topic):
                continue
            self._publishers[topic] = count
            if len(kinds) == 1:
                self._subscribe(topic, kinds[0])
            else:
                self._refuse(topic, f"several types: {', '.join(kinds)}")

    def _subscribe(self, topic: str, kind: str) -> None:
        offered = [info.qos_profile for info in self._node.get_publishers_info_by_topic(topic)]
        qos, found = fitting_qos(offered), message_class(kind)
        if topic in self._subscriptions and self._subscriptions[topic][1] == qos:
            return
        if found is None:
            self._refuse(topic, f"the package of {kind} is not installed")
            return
        try:
            self.bag.add_topic(topic, kind, qos_yaml(offered))
        except ShoalError as error:
            self._refuse(topic, str(error))
            return
        if topic in self._subscriptions:  # a publisher with another QoS has come: first take what waits
            self.take()
            self._node.destroy_subscription(self._subscriptions[topic][0])
        own = self._node.create_subscription(found, topic, _never, qos, callback_group=self._group, raw=True)
        self._subscriptions[topic] = own, qos

    def _refuse(self, topic: str, why: str) -> None:
        if topic not in self._refused:
            self._refused.add(topic)
            self._node.get_logger().warning(f"{topic} is not recorded: {why}")

    @property
    def topics(self) -> int:
        """How many are recorded."""
        return len(self._subscriptions)

    # -- what comes in ------------------------------------------------------------------------------------------

    def take(self) -> None:
        """Everything that has arrived."""
        now_ns = self._node.get_clock().now().nanoseconds
        self._times.look(time.time_ns(), now_ns)
        if now_ns and self._early:
            for topic, data in self._early:
                self.bag.write(topic, now_ns, now_ns, data)
            self._early.clear()
        taken = [(topic, endpoints.take_all(entry[0])) for topic, entry in self._subscriptions.items()]
        if self._clock is not None:  # after the messages: the ticks that they answer are here by now
            for tick, info in endpoints.take_all(self._clock):
                self._steps.tick(info["source_timestamp"], tick.clock.sec * 10**9 + tick.clock.nanosec)
        for topic, messages in taken:
            for data, info in messages:
                self._store(topic, data, info, now_ns)

    def _store(self, topic: str, data: bytes, info: Any, now_ns: int) -> None:
        if not now_ns:
            self._early.append((topic, data))
        elif self._simulated:
            step_ns = self._steps.of(info["source_timestamp"]) if self._clock is not None else None
            log_ns = self._times.of(info["received_timestamp"]) if step_ns is None else step_ns
            self.bag.write(topic, log_ns, log_ns, data)
        else:
            log_ns = info["received_timestamp"] or now_ns  # not every middleware notes it
            self.bag.write(topic, log_ns, info["source_timestamp"] or log_ns, data)

    def flush(self, every_s: float) -> None:
        """To the file, if it is time."""
        if time.monotonic() - self._flushed_s >= every_s:
            self.bag.flush()
            self._flushed_s = time.monotonic()

    def close(self) -> None:
        """Take what is still there, finish the file, unsubscribe."""
        try:
            self.take()
            for topic, data in self._early:
                self.bag.write(topic, 0, 0, data)
        finally:
            self.bag.close()
            for subscription, _ in self._subscriptions.values():
                self._node.destroy_subscription(subscription)
            if self._clock is not None:
                self._node.destroy_subscription(self._clock)
            self._subscriptions.clear()


def compile_pattern(name: str, text: str) -> re.Pattern[str]:
    """A ShoalError when it is no regular expression."""
    try:
        return re.compile(text)
    except re.error as error:
        raise ShoalError(f"{name} = '{text}': {error}; expected a regular expression") from None


def check_name(name: str) -> str:
    """A plain name, not a way through the file system."""
    if name and (name != Path(name).name or name == ".."):
        raise ShoalError(f"name = '{name}'; expected a name without folders")
    return name


def free_folder(parent: Path, name: str) -> Path:
    """`name`, or with a number behind it when that is taken: a recording is never written over."""
    for number in range(1, 10_000):
        folder = parent / (name if number == 1 else f"{name}_{number}")
        if not folder.exists():
            return folder
    raise ShoalError(f"{parent / name}: taken ten thousand times; expected a free name")


def _never(_: Any) -> None:
    raise AssertionError("polled subscriptions have no callback")
