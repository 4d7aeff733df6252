"""The station's node in a thread of its own. The window never waits for it, and it never touches the window."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import Vector3
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Bool, Float64, String

from shoal.frames import ned_to_enu
from shoal.messages import topics
from shoal_ros import convert, endpoints
from shoal_rqt import updates
from shoal_rqt.model import LIMITS
from shoal_rqt.requests import Description, Done, Reply
from shoal_rqt.ros_calls import Calls
from shoal_rqt.subscriptions import FleetSubscriber
from shoal_rqt.update_queue import UpdateQueue
from shoal_rqt.water import Water
from shoal_rqt.waypoint_list import Mark

BEAT_S = 0.05
DISCOVER_S = 0.5
WATER_S = 0.1  # between two samples of waves


class RosLink:
    """A `requests.Link`. `close` when done."""

    def __init__(self, update_queue: UpdateQueue, domain: int | None = None, name: str = "operator_station") -> None:
        self._mailbox = update_queue
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = Node(
            name, context=self._context, start_parameter_services=False, enable_rosout=False, use_global_arguments=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._stopped = False
        self._ears, self._calls = FleetSubscriber(self.node, update_queue, self._heard_stop), Calls(self.node)
        self._stop = endpoints.publisher(self.node, topics.STOP)
        self._thrust: dict[str, list[Publisher]] = {}
        self._set_mode = endpoints.publisher(self.node, topics.SET_MODE)
        self._waypoints = endpoints.publisher(self.node, topics.SET_WAYPOINTS)
        self._current = endpoints.publisher(self.node, topics.OCEAN_CURRENT)
        self._water: Water | None = None
        self._watered = (0, -np.inf)  # listeners, wall time when last said
        self._nodes: frozenset[str] = frozenset()
        self._todo: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="shoal-ros", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and leave ROS."""
        self._end.set()
        self._thread.join(timeout=5.0)
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    # -- the thread ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        discovered = -np.inf
        while not self._end.is_set() and self._context.ok():
            due = time.monotonic() + BEAT_S
            try:
                while not self._end.is_set() and (left := due - time.monotonic()) > 0:
                    self._executor.spin_once(timeout_sec=left)
                if time.monotonic() - discovered > DISCOVER_S:
                    discovered = time.monotonic()
                    self._discover()
                self._beat()
            except Exception as error:  # a station that goes silent would be worse than one that complains
                if not self._end.is_set():
                    self._mailbox.put(updates.EventUpdate(2, f"ROS: {type(error).__name__}: {error}"))
                    time.sleep(BEAT_S)

    def _beat(self) -> None:
        self._ears.listen()
        while True:
            try:
                act = self._todo.get_nowait()
            except Empty:
                break
            act()
        self._calls.beat()
        if self._stopped:
            self._zero()  # again and again: a controller that does not listen must not win
        self._flow()

    def _discover(self) -> None:
        self._ears.discover()
        for vehicle, thrusters in self._ears.vehicles.items():
            if len(self._thrust.get(vehicle, ())) != len(thrusters):
                # Beforehand: who is made when STOP is pressed is found by the thrusters too late.
                self._thrust[vehicle] = [
                    endpoints.publisher(self.node, topics.THRUST, vehicle=vehicle, thruster=t) for t in thrusters
                ]
        nodes = self._ears.nodes()
        for node in sorted(nodes - self._nodes):
            self._ask_facts(node)
        self._nodes = nodes
        stick = self.node.count_publishers(topics.CMD_VEL.name) > 0
        self._mailbox.put(updates.GraphUpdate(tuple(self._ears.vehicles), nodes, stick))

    def _ask_facts(self, node: str) -> None:
        names = ["fleet", *LIMITS] if node.endswith("/mpc") else ["fleet"] if node == "/guidance" else []
        if names:
            self._calls.get_parameters(node, names, lambda values: self._mailbox.put(updates.FactsUpdate(node, values)))

    def _zero(self) -> None:
        for publishers in list(self._thrust.values()):
            for publisher in publishers:
                publisher.publish(Float64(data=0.0))

    def _heard_stop(self, stopped: bool) -> None:
        """From any station: while the fleet is stopped each of them holds the thrusters at zero, afterwards none."""
        self._stopped = stopped
        self._mailbox.put(updates.StopUpdate(stopped))

    def _flow(self) -> None:
        """Waves for ever, a steady current once for each that comes to listen."""
        water, (listeners, said_s) = self._water, self._watered
        if water is None:
            return
        now_s, there = time.monotonic(), self._current.get_subscription_count()
        if there != listeners or (water.moving and now_s - said_s >= WATER_S):
            self._watered = there, now_s
            x, y, z = ned_to_enu(water.velocity(self._time_s())).tolist()
            self._current.publish(Vector3(x=x, y=y, z=z))

    def _time_s(self) -> float:
        return self._ears.t_s if self._ears.t_s is not None else time.time()

    # -- from the window ----------------------------------------------------------------------------------------

    def stop(self, stopped: bool) -> None:
        """At once, from the window's own thread: nothing that hangs on our side can delay it."""
        self._stopped = stopped
        self._stop.publish(Bool(data=stopped))
        if stopped:
            self._zero()
        self._mailbox.put(updates.StopUpdate(stopped))

    def set_mode(self, mode: str) -> None:
        self._todo.put(lambda: self._set_mode.publish(String(data=mode)))

    def send_waypoints(self, marks: Sequence[Mark], start_m: Sequence[float] | None) -> None:
        places = np.array([mark.position_m for mark in marks]).reshape(-1, 3)
        speeds = np.array([mark.speed_mps for mark in marks])
        before = np.vstack([places[:1] if start_m is None else np.array(start_m)[None], places[:-1]])
        legs_s = np.linalg.norm(places - before, axis=1) / speeds

        def send() -> None:
            now_s = self._time_s()
            self._waypoints.publish(convert.to_path(now_s, now_s + np.cumsum(legs_s), places))

        self._todo.put(send)

    def set_water(self, water: Water) -> None:
        def start() -> None:
            self._water, self._watered = water, (-1, -np.inf)

        self._todo.put(start)

    def call(self, service: str, done: Done) -> None:
        self._todo.put(lambda: self._calls.trigger(service, lambda reply: self._answer(done, reply)))

    def set_parameters(self, node: str, values: Mapping[str, Any], done: Done) -> None:
        def answered(reply: Reply) -> None:
            self._answer(done, reply)
            self._ask_facts(node)  # limits may be others now

        self._todo.put(lambda: self._calls.set_parameters(node, values, answered))

    def describe(self, node: str, done: Callable[[Description], None]) -> None:
        self._todo.put(lambda: self._calls.describe(node, lambda found: self._answer(done, found)))

    def _answer(self, done: Callable[[Any], None], result: Any) -> None:
        self._mailbox.put(updates.Answer(done, result))
