"""For tests and benchmarks: real nodes as processes in a domain of their own, and a node that listens and speaks."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import rclpy
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from shoal.messages import topics
from shoal.messages.topics import Topic
from shoal_ros import convert, endpoints
from shoal_ros.domain import claim_domain
from shoal_ros.node_list import NodeSpec
from shoal_ros.spawn import Child


class Harness:
    """`with Harness() as fleet: fleet.start(spec); fleet.spin(until=…)`. At the end all that was started is ended."""

    def __init__(self, name: str = "harness") -> None:
        self.domain = claim_domain()
        self.children: dict[str, Child] = {}
        self._context = rclpy.Context()
        # Only this machine: what the children get by their environment, our own node gets by the same variable.
        self._state = tempfile.TemporaryDirectory(prefix="shoal-state-")  # STOP is remembered in this run only
        self._environment = {**self.domain.environment(), "SHOAL_STATE": self._state.name}
        with _environment(self._environment):
            rclpy.init(context=self._context, domain_id=self.domain.number)
            self.node = Node(name, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.t_s = 0.0
        self.on_clock: list[Callable[[float], None]] = []

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.children.values():
            child.signal(signal.SIGTERM)  # all at once; then wait
        for child in self.children.values():
            child.end()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
        self.domain.close()
        self._state.cleanup()

    # -- processes ----------------------------------------------------------------------------------------------

    def start(self, *specs: NodeSpec) -> None:
        """Each as a process."""
        for spec in specs:
            self.children[spec.full_name] = Child(spec, self._environment)

    def output(self) -> str:
        """All that was printed, for messages of failed tests."""
        return "\n".join(f"{name}: {line}" for name, child in self.children.items() for line in child.lines)

    # -- messages -----------------------------------------------------------------------------------------------

    def follow_clock(self) -> None:
        """Keep `t_s`, and call everybody in `on_clock` with it."""
        endpoints.subscription(self.node, topics.CLOCK, self._tick)

    def _tick(self, message: Any) -> None:
        self.t_s = convert.from_stamp(message.clock)
        for act in self.on_clock:
            act(self.t_s)

    def listen(self, topic: Topic, raw: bool = False, **names: str) -> list[Any]:
        """A list that fills with the topic's messages; raw: with their bytes."""
        received: list[Any] = []
        endpoints.subscription(self.node, topic, received.append, None, raw, **names)
        return received

    def publisher(self, topic: Topic, **names: str) -> Any:
        """To say something."""
        return endpoints.publisher(self.node, topic, **names)

    def spin(self, until: Callable[[], object], what: str = "it", wall_s: float = 60.0) -> None:
        """Serve ROS until that is true. The limit only keeps a broken test from hanging: it fails with all output."""
        end = time.monotonic() + wall_s
        while not until():
            if time.monotonic() > end:
                raise AssertionError(f"waited {wall_s:g} s for {what}\n{self.output()}")
            self._executor.spin_once(timeout_sec=0.05)

    def linger(self, wall_s: float) -> None:
        """Serve ROS for a while."""
        end = time.monotonic() + wall_s
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)

    # -- services -----------------------------------------------------------------------------------------------

    def call(self, kind: Any, name: str, request: Any, wall_s: float = 30.0) -> Any:
        """A service's answer."""
        client = self.node.create_client(kind, name)
        self.spin(client.service_is_ready, f"service {name}", wall_s)
        future = client.call_async(request)
        self.spin(future.done, f"answer of {name}", wall_s)
        self.node.destroy_client(client)
        return future.result()

    def set_parameters(self, node: str, values: Mapping[str, object]) -> Any:
        """rcl_interfaces/SetParametersResult of one request for all of them."""
        given = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=given)
        return self.call(SetParametersAtomically, f"{node}/set_parameters_atomically", request).result


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Some variables for a while."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def statuses(received: Iterable[Any], name: str) -> list[Any]:
    """The lines of one reporter among DiagnosticArrays."""
    return [status for array in received for status in array.status if status.name == f"shoal: {name}"]
