"""Subscriptions of the station, polled instead of served at once, so that they cost little.

A fleet of ten publishes two thousand messages a second, and the window draws ten pictures a second: so queues are
emptied at its pace, and of a state only the newest is read. Streams are best effort: a slow window must not slow the
fleet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.subscription import Subscription

from shoal.config.json_text import json_object
from shoal.errors import ShoalError
from shoal.fleet.stop import StopState
from shoal.frames import enu_to_ned
from shoal.messages import topics
from shoal.messages.topics import Topic
from shoal.recordings.assembly_json import joining_from_json
from shoal.recordings.docking_json import order_from_json, status_from_json
from shoal.recordings.placement_json import formation_from_json
from shoal_ros import convert, endpoints
from shoal_ros.qos import DISPLAY, LATCHED_BY_MANY, PROFILES
from shoal_rqt import updates
from shoal_rqt.platform_status import platform_from_json
from shoal_rqt.structures import levels_sentence
from shoal_rqt.update_queue import UpdateQueue

LOSSY = (topics.ODOMETRY, topics.PLAN, topics.THRUST, topics.REFERENCE, topics.FOV, topics.DISTANCE, topics.CLOCK)
QOS = {**dict.fromkeys(LOSSY, DISPLAY), topics.STOP_STATE: LATCHED_BY_MANY}
ODOMETRY_NAME = re.compile(r"/([a-z][a-z0-9_]*)/odometry")
THRUST_NAME = re.compile(r"/model/([a-z][a-z0-9_]*)/joint/(\w+)_joint/cmd_thrust")
SIGHT_NAME = re.compile(r"/([a-z][a-z0-9_]*)/(fov|distance)/([a-z][a-z0-9_]*)")


class FleetSubscriber:
    """`discover` finds vehicles as they come, `poll` empties all queues. In the ROS thread only."""

    def __init__(self, node: Node, update_queue: UpdateQueue, on_stop: Callable[[str, StopState], None]) -> None:
        """`on_stop` gets the name of a holder of STOP and what it knows."""
        self._node, self._updates, self._on_stop = node, update_queue, on_stop
        self._group = endpoints.Polled()
        self.vehicles: list[str] = []
        self._thrust: dict[str, dict[str, float]] = {}  # vehicle, thruster, N
        self._changed_thrust: set[str] = set()
        self._subscriptions: dict[str, tuple[Subscription, Callable[[Any], None], bool]] = {}  # bool: each one counts
        self._sight: dict[tuple[str, str], dict[str, float]] = {}
        self.docking_counter = 0  # of the newest order that was on the topic
        self.docking_heard: dict[str, int] = {}  # by vehicle: of the newest order that it has heard
        t = topics
        self.t_s: float | None = None
        self._open(t.CLOCK, self._on_clock)
        self._open(t.REFERENCE, lambda b: self._put(updates.ReferenceUpdate(convert.preview_from_bytes(b))), raw=True)
        self._open(t.FORMATION, lambda m: self._put(updates.FormationUpdate(formation_from_json(m.data))))
        self._open(t.MODE, lambda m: self._put(updates.ModeUpdate(str(m.data))))
        self._open(t.TEST_STATUS, lambda m: self._put(updates.TestUpdate(json.loads(m.data))), every=True)
        self._open(t.WAYPOINTS, self._on_waypoints)
        self._open(t.OCEAN_CURRENT, lambda m: self._put(updates.CurrentUpdate(enu_to_ned(np.array([m.x, m.y, m.z])))))
        self._open(t.STOP_STATE, self._on_stop_state, every=True)
        self._open(t.COLLISIONS, lambda m: self._put(updates.EventUpdate(2, str(m.data))), every=True)
        self._open(t.DIAGNOSTICS, self._on_diagnostics, every=True)
        self._open(t.ASSEMBLY, lambda m: self._put(updates.AssemblyUpdate(joining_from_json(m.data))))
        self._open(t.SET_DOCKING, self._on_docking_order, every=True)
        self._open(t.PLATFORM, lambda m: self._put(updates.PlatformUpdate(platform_from_json(m.data))))

    def _put(self, item: updates.Update) -> None:
        self._updates.put(item)

    def _open(
        self, topic: Topic, handle: Callable[[Any], None], raw: bool = False, every: bool = False, **names: str
    ) -> None:
        name = topic.of(**names)
        if name not in self._subscriptions:
            qos = QOS.get(topic, PROFILES[topic.qos])
            kind = endpoints.message_class(topic.type)
            made = self._node.create_subscription(kind, name, _never, qos, callback_group=self._group, raw=raw)
            self._subscriptions[name] = made, handle, every

    # -- discovery ----------------------------------------------------------------------------------------------

    def discover(self) -> None:
        """Vehicles by their odometry topics, thrusters and neighbours by theirs."""
        names = [name for name, _ in self._node.get_topic_names_and_types()]
        for name in names:
            if (found := ODOMETRY_NAME.fullmatch(name)) and found[1] not in self.vehicles:
                self._add_vehicle(found[1])
        for name in names:
            if found := THRUST_NAME.fullmatch(name):
                self._add_thruster(found[1], found[2])
            elif found := SIGHT_NAME.fullmatch(name):
                self._open(
                    topics.FOV if found[2] == "fov" else topics.DISTANCE,
                    partial(self._on_sight, found[1], found[3], found[2]),
                    vehicle=found[1], other=found[3],
                )  # fmt: skip

    def nodes(self) -> frozenset[str]:
        """Full names of all but ourselves and the hidden ones."""
        found = self._node.get_node_names_and_namespaces()
        full = (f"{space.rstrip('/')}/{name}" for name, space in found if not name.startswith("_"))
        return frozenset(name for name in full if name != self._node.get_fully_qualified_name())

    def _add_vehicle(self, vehicle: str) -> None:
        self.vehicles.append(vehicle)

        def odometry(data: bytes) -> None:
            self._put(updates.OdometryUpdate(vehicle, convert.odometry_from_bytes(data)))

        def plan(data: bytes) -> None:
            self._put(updates.PlanUpdate(vehicle, convert.plan_from_bytes(data)))

        self._open(topics.ODOMETRY, odometry, raw=True, vehicle=vehicle)
        self._open(topics.PLAN, plan, raw=True, vehicle=vehicle)
        self._open(topics.DOCKING, partial(self._on_docking, vehicle), vehicle=vehicle)
        self._open(topics.LEVELS, partial(self._on_levels, vehicle), vehicle=vehicle)

    def _add_thruster(self, vehicle: str, thruster: str) -> None:
        """Topics appear one after the other; the bars are in the order of the names: thruster2 before thruster10."""
        known = self._thrust.setdefault(vehicle, {})
        if thruster not in known:
            known[thruster] = np.nan
            self._thrust[vehicle] = {name: known[name] for name in sorted(known, key=lambda t: (len(t), t))}
            self._changed_thrust.add(vehicle)
            self._open(topics.THRUST, partial(self._on_thrust, vehicle, thruster), vehicle=vehicle, thruster=thruster)

    # -- messages -----------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Empty all queues. A message that makes no sense is reported and otherwise ignored."""
        for name, (subscription, handle, every) in list(self._subscriptions.items()):
            for message in _taken(subscription, every):
                try:
                    handle(message)
                except (ShoalError, ValueError, KeyError) as error:
                    self._put(updates.EventUpdate(1, f"{name}: {error}"))
        for vehicle in self._changed_thrust:
            self._put(updates.ThrustUpdate(vehicle, np.array(list(self._thrust[vehicle].values()))))
        self._changed_thrust.clear()
        for (seer, other), found in self._sight.items():
            self._put(updates.SightUpdate(seer, other, found.get("fov"), found.get("distance")))
        self._sight.clear()

    def _on_clock(self, message: Any) -> None:
        self.t_s = convert.from_stamp(message.clock)
        self._put(updates.ClockUpdate(self.t_s))

    def _on_thrust(self, vehicle: str, thruster: str, message: Any) -> None:
        if self._thrust[vehicle][thruster] != float(message.data):
            self._thrust[vehicle][thruster] = float(message.data)
            self._changed_thrust.add(vehicle)

    def _on_sight(self, seer: str, other: str, what: str, message: Any) -> None:
        self._sight.setdefault((seer, other), {})[what] = float(message.data)

    def _on_waypoints(self, message: Any) -> None:
        places = [convert.from_pose(pose.pose)[0] for pose in message.poses]
        self._put(updates.QueueUpdate(np.array(places).reshape(-1, 3)))

    def _on_stop_state(self, message: Any) -> None:
        state, holder = StopState.from_json(message.data), str(json.loads(message.data).get("holder", ""))
        self._on_stop(holder, state)
        self._put(updates.StopUpdate(holder, state))

    def _on_docking_order(self, message: Any) -> None:
        order = order_from_json(message.data)
        self.docking_counter = max(self.docking_counter, order.counter)
        self._put(updates.DockingOrderUpdate(order))

    def _on_docking(self, vehicle: str, message: Any) -> None:
        told = status_from_json(message.data, topics.DOCKING.of(vehicle=vehicle))
        self.docking_heard[vehicle] = told.counter
        self._put(updates.DockingUpdate(vehicle, told))

    def _on_levels(self, vehicle: str, message: Any) -> None:
        levels = json_object(message.data, topics.LEVELS.of(vehicle=vehicle))
        self._put(updates.LevelsUpdate(vehicle, levels_sentence(levels)))

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
            values = {pair.key: pair.value for pair in status.values}
            self._put(updates.DiagnosticUpdate(status.name, status.hardware_id, level, status.message, values))


def _taken(subscription: Subscription, every: bool) -> Iterator[Any]:
    messages = endpoints.take_all(subscription)
    yield from (message for message, _ in (messages if every else messages[-1:]))


def _never(_: Any) -> None:
    raise AssertionError("no executor serves a polled subscription")
