"""The station's node in a thread of its own. The window never waits for it, and it never touches the window."""

from __future__ import annotations

import os
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
from std_msgs.msg import Bool, String, UInt64

from shoal.fleet.stop import StopState
from shoal.frames import ned_to_enu
from shoal.messages import topics
from shoal.messages.docking import DockingOrder
from shoal_ros import convert, endpoints
from shoal_rqt import updates
from shoal_rqt.docking_sender import DockingSender
from shoal_rqt.model import LIMIT_PARAMETERS
from shoal_rqt.requests import Description, Done, Reply
from shoal_rqt.ros_calls import ServiceCalls
from shoal_rqt.subscriptions import FleetSubscriber
from shoal_rqt.update_queue import UpdateQueue
from shoal_rqt.water import Water
from shoal_rqt.waypoint_list import Mark

LOOP_S = 0.05
DISCOVER_S = 0.5
WATER_S = 0.1  # between two samples of waves
REPEAT_S = 0.2  # between two STOPs, until a holder confirms


class RosLink:
    """A `requests.Link`. `close` when done."""

    def __init__(self, update_queue: UpdateQueue, domain: int | None = None, name: str = "operator_station") -> None:
        self._updates = update_queue
        self._context = rclpy.Context()
        secured = os.environ.get("ROS_SECURITY_ENABLE", "").lower() == "true"
        enclave = ["--ros-args", "--enclave", f"/{name}"] if secured else None
        rclpy.init(args=enclave, context=self._context, domain_id=domain)
        self.node = Node(
            name, context=self._context, start_parameter_services=False, enable_rosout=False, use_global_arguments=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._subscriber = FleetSubscriber(self.node, update_queue, self._on_stop_state)
        self._calls = ServiceCalls(self.node)
        self._stop = endpoints.publisher(self.node, topics.STOP)
        self._release = endpoints.publisher(self.node, topics.RELEASE)
        self._unconfirmed_stop = False
        self._stop_sent_s = -np.inf  # wall
        self._set_mode = endpoints.publisher(self.node, topics.SET_MODE)
        self._waypoints = endpoints.publisher(self.node, topics.SET_WAYPOINTS)
        self._current = endpoints.publisher(self.node, topics.OCEAN_CURRENT)
        self._platform = endpoints.publisher(self.node, topics.SET_PLATFORM)
        self._docking = DockingSender(
            endpoints.publisher(self.node, topics.SET_DOCKING), self._subscriber, update_queue
        )
        self._water: Water | None = None
        self._watered = (0, -np.inf)  # subscribers, wall time of the last message
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
            due = time.monotonic() + LOOP_S
            try:
                while not self._end.is_set() and (left := due - time.monotonic()) > 0:
                    self._executor.spin_once(timeout_sec=left)
                if time.monotonic() - discovered > DISCOVER_S:
                    discovered = time.monotonic()
                    self._discover()
                self._serve()
            except Exception as error:  # a station that falls silent would be worse than one that complains
                if not self._end.is_set():
                    self._updates.put(updates.EventUpdate(2, f"ROS: {type(error).__name__}: {error}"))
                    time.sleep(LOOP_S)

    def _serve(self) -> None:
        self._subscriber.poll()
        while True:
            try:
                act = self._todo.get_nowait()
            except Empty:
                break
            act()
        self._calls.poll()
        if self._unconfirmed_stop and time.monotonic() - self._stop_sent_s >= REPEAT_S:
            self._send_stop()
        self._publish_water()
        self._docking.repeat(time.monotonic())

    def _discover(self) -> None:
        self._subscriber.discover()
        nodes = self._subscriber.nodes()
        for node in sorted(nodes - self._nodes):
            self._request_parameters(node)
        self._nodes = nodes
        stick = self.node.count_publishers(topics.CMD_VEL.name) > 0
        self._updates.put(updates.GraphUpdate(tuple(self._subscriber.vehicles), nodes, stick))

    def _request_parameters(self, node: str) -> None:
        names = ["fleet", *LIMIT_PARAMETERS] if node.endswith("/mpc") else ["fleet"] if node == "/guidance" else []
        if names:
            self._calls.get_parameters(
                node, names, lambda values: self._updates.put(updates.ParametersUpdate(node, values))
            )

    def _on_stop_state(self, holder: str, state: StopState) -> None:
        """One holder is enough: the others learn from it."""
        if state.stopped:
            self._unconfirmed_stop = False
            self._docking.end()

    def _send_stop(self) -> None:
        self._stop_sent_s = time.monotonic()
        self._stop.publish(Bool(data=True))

    def _publish_water(self) -> None:
        """Waves all the time, a steady current once for each new subscriber."""
        water, (subscribers, sent_s) = self._water, self._watered
        if water is None:
            return
        now_s, there = time.monotonic(), self._current.get_subscription_count()
        if there != subscribers or (water.moving and now_s - sent_s >= WATER_S):
            self._watered = there, now_s
            x, y, z = ned_to_enu(water.velocity(self._time_s())).tolist()
            self._current.publish(Vector3(x=x, y=y, z=z))

    def _time_s(self) -> float:
        return self._subscriber.t_s if self._subscriber.t_s is not None else time.time()

    # -- from the window ----------------------------------------------------------------------------------------

    def stop(self) -> None:
        """At once, from the window's own thread: nothing that hangs on our side can delay it."""
        self._unconfirmed_stop = True
        self._send_stop()
        self._docking.end()
        self._updates.put(updates.StopRequestUpdate(True))

    def release(self, counter: int) -> None:
        self.withdraw_stop()
        self._release.publish(UInt64(data=counter))

    def withdraw_stop(self) -> None:
        self._unconfirmed_stop = False
        self._updates.put(updates.StopRequestUpdate(False))

    def set_mode(self, mode: str) -> None:
        self._todo.put(lambda: self._set_mode.publish(String(data=mode)))

    def send_waypoints(self, marks: Sequence[Mark], start_m: Sequence[float] | None) -> None:
        places = np.array([mark.position_m for mark in marks]).reshape(-1, 3)
        speeds = np.array([mark.speed_mps for mark in marks])
        before = np.vstack([places[:1] if start_m is None else np.array(start_m)[None], places[:-1]])
        legs_s = np.linalg.norm(places - before, axis=1) / speeds

        def send() -> None:
            now_s = self._time_s()
            self._waypoints.publish(convert.path_to_bytes(now_s, now_s + np.cumsum(legs_s), places))

        self._todo.put(send)

    def set_water(self, water: Water) -> None:
        def start() -> None:
            self._water, self._watered = water, (-1, -np.inf)

        self._todo.put(start)

    def send_docking(self, order: DockingOrder) -> None:
        self._todo.put(lambda: self._docking.send(order, time.monotonic()))

    def send_platform(self, word: str) -> None:
        self._todo.put(lambda: self._platform.publish(String(data=word)))

    def call(self, service: str, done: Done) -> None:
        self._todo.put(lambda: self._calls.trigger(service, lambda reply: self._answer(done, reply)))

    def set_parameters(self, node: str, values: Mapping[str, Any], done: Done) -> None:
        def answered(reply: Reply) -> None:
            self._answer(done, reply)
            self._request_parameters(node)  # limits may have changed

        self._todo.put(lambda: self._calls.set_parameters(node, values, answered))

    def describe(self, node: str, done: Callable[[Description], None]) -> None:
        self._todo.put(lambda: self._calls.describe(node, lambda found: self._answer(done, found)))

    def _answer(self, done: Callable[[Any], None], result: Any) -> None:
        self._updates.put(updates.Answer(done, result))
