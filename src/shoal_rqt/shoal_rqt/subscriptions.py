"""Listening: every topic the station shows, asked now and then instead of served at once, so that it costs little.

A fleet of ten says two thousand messages a second. The window shows ten pictures a second; so queues are emptied at its
pace, and of a state only the newest is read. Streams are heard 'best effort': a slow window must not slow the fleet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.subscription import Subscription

from shoal.errors import ShoalError
from shoal.frames import enu_to_ned
from shoal.messages import topics
from shoal.messages.topics import Topic
from shoal_ros import convert, endpoints
from shoal_ros.formation import formation_from_json
from shoal_ros.qos import DISPLAY, PROFILES
from shoal_rqt import updates
from shoal_rqt.update_queue import UpdateQueue

Array = NDArray[np.float64]
LOSSY = (topics.ODOMETRY, topics.PLAN, topics.THRUST, topics.REFERENCE, topics.FOV, topics.DISTANCE, topics.CLOCK)
ODOMETRY_NAME = re.compile(r"/([a-z][a-z0-9_]*)/odometry")
THRUST_NAME = re.compile(r"/model/([a-z][a-z0-9_]*)/joint/(\w+)_joint/cmd_thrust")
SIGHT_NAME = re.compile(r"/([a-z][a-z0-9_]*)/(fov|distance)/([a-z][a-z0-9_]*)")
USUAL_THRUSTERS = tuple(f"thruster{i}" for i in range(1, 9))


class FleetSubscriber:
    """`discover` finds vehicles as they come, `listen` empties all queues. In the ROS thread only."""

    def __init__(self, node: Node, update_queue: UpdateQueue, on_stop: Callable[[bool], None]) -> None:
        self._node, self._mailbox = node, update_queue
        self._group = endpoints.Polled()
        self.vehicles: dict[str, tuple[str, ...]] = {}  # and their thrusters
        self._thrust: dict[str, Array] = {}
        self._subscriptions: dict[str, tuple[Subscription, Callable[[Any], None], bool]] = {}  # bool: each one counts
        self._sight: dict[tuple[str, str], dict[str, float]] = {}
        t = topics
        self.t_s: float | None = None
        self._open(t.CLOCK, self._clock)
        self._open(t.REFERENCE, lambda b: self._tell(updates.ReferenceUpdate(convert.preview_from_bytes(b))), raw=True)
        self._open(t.FORMATION, self._formation)
        self._open(t.MODE, lambda m: self._tell(updates.ModeUpdate(str(m.data))))
        self._open(t.TEST_STATUS, lambda m: self._tell(updates.TestUpdate(json.loads(m.data))), every=True)
        self._open(t.WAYPOINTS, self._queue)
        self._open(t.OCEAN_CURRENT, lambda m: self._tell(updates.CurrentUpdate(enu_to_ned(np.array([m.x, m.y, m.z])))))
        self._open(t.STOP, lambda m: on_stop(bool(m.data)))
        self._open(t.COLLISIONS, lambda m: self._tell(updates.EventUpdate(2, str(m.data))), every=True)
        self._open(t.DIAGNOSTICS, self._diagnostics, every=True)

    def _tell(self, item: updates.Update) -> None:
        self._mailbox.put(item)

    def _open(
        self, topic: Topic, hear: Callable[[Any], None], raw: bool = False, every: bool = False, **names: str
    ) -> None:
        name = topic.of(**names)
        if name not in self._subscriptions:
            qos = DISPLAY if topic in LOSSY else PROFILES[topic.qos]
            kind = endpoints.message_class(topic.type)
            made = self._node.create_subscription(kind, name, _never, qos, callback_group=self._group, raw=raw)
            self._subscriptions[name] = made, hear, every

    # -- who is there -------------------------------------------------------------------------------------------

    def discover(self) -> None:
        """Vehicles by their odometry topics, thrusters and neighbours by theirs."""
        names = [name for name, _ in self._node.get_topic_names_and_types()]
        for name in names:
            if found := ODOMETRY_NAME.fullmatch(name):
                self._meet(found[1])
        thrusters: dict[str, set[str]] = {}
        for name in names:
            if found := THRUST_NAME.fullmatch(name):
                thrusters.setdefault(found[1], set()).add(found[2])
            elif found := SIGHT_NAME.fullmatch(name):
                self._open(
                    topics.FOV if found[2] == "fov" else topics.DISTANCE,
                    partial(self._sight_told, found[1], found[3], found[2]),
                    vehicle=found[1], other=found[3],
                )  # fmt: skip
        for vehicle in self.vehicles:
            found_ones = sorted(thrusters.get(vehicle, ()), key=lambda t: (len(t), t))
            self._meet_thrusters(vehicle, tuple(found_ones) or USUAL_THRUSTERS)

    def nodes(self) -> frozenset[str]:
        """Full names of all but ourselves and the hidden ones."""
        found = self._node.get_node_names_and_namespaces()
        full = (f"{space.rstrip('/')}/{name}" for name, space in found if not name.startswith("_"))
        return frozenset(name for name in full if name != self._node.get_fully_qualified_name())

    def _meet(self, vehicle: str) -> None:
        if vehicle in self.vehicles:
            return
        self.vehicles[vehicle] = ()

        def odometry(data: bytes) -> None:
            self._tell(updates.OdometryUpdate(vehicle, convert.odometry_from_bytes(data)))

        def plan(data: bytes) -> None:
            self._tell(updates.PlanUpdate(vehicle, convert.plan_from_bytes(data)))

        self._open(topics.ODOMETRY, odometry, raw=True, vehicle=vehicle)
        self._open(topics.PLAN, plan, raw=True, vehicle=vehicle)

    def _meet_thrusters(self, vehicle: str, thrusters: tuple[str, ...]) -> None:
        if self.vehicles[vehicle] == thrusters:
            return
        self.vehicles[vehicle] = thrusters
        self._thrust[vehicle] = np.full(len(thrusters), np.nan)
        for i, thruster in enumerate(thrusters):
            self._open(topics.THRUST, partial(self._force, vehicle, i), vehicle=vehicle, thruster=thruster)

    # -- what they say ------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Empty all queues. What makes no sense is told once and otherwise left."""
        before = {name: thrust.copy() for name, thrust in self._thrust.items()}
        for name, (subscription, hear, every) in list(self._subscriptions.items()):
            for message in _taken(subscription, every):
                try:
                    hear(message)
                except (ShoalError, ValueError, KeyError) as error:
                    self._tell(updates.EventUpdate(1, f"{name}: {error}"))
        for name, thrust in self._thrust.items():
            if name not in before or not np.array_equal(thrust, before[name], equal_nan=True):
                self._tell(updates.ThrustUpdate(name, thrust.copy()))
        for (seer, other), told in self._sight.items():
            self._tell(updates.SightUpdate(seer, other, told.get("fov"), told.get("distance")))
        self._sight.clear()

    def _clock(self, message: Any) -> None:
        self.t_s = convert.from_stamp(message.clock)
        self._tell(updates.ClockUpdate(self.t_s))

    def _force(self, vehicle: str, index: int, message: Any) -> None:
        self._thrust[vehicle][index] = float(message.data)

    def _sight_told(self, seer: str, other: str, what: str, message: Any) -> None:
        self._sight.setdefault((seer, other), {})[what] = float(message.data)

    def _formation(self, message: Any) -> None:
        told = formation_from_json(message.data)
        self._tell(updates.FormationUpdate(told.slots, told.sight))

    def _queue(self, message: Any) -> None:
        places = [convert.from_pose(pose.pose)[0] for pose in message.poses]
        self._tell(updates.QueueUpdate(np.array(places).reshape(-1, 3)))

    def _diagnostics(self, message: Any) -> None:
        for status in message.status:
            level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
            values = {pair.key: pair.value for pair in status.values}
            self._tell(updates.DiagnosticUpdate(status.name, status.hardware_id, level, status.message, values))


def _taken(subscription: Subscription, every: bool) -> Iterator[Any]:
    messages = endpoints.take_all(subscription)
    yield from (message for message, _ in (messages if every else messages[-1:]))


def _never(_: Any) -> None:
    raise AssertionError("no executor serves a polled subscription")
