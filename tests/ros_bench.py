"""A test's own place in a ROS graph: its domain, its node, the processes it starts, and the clock it drives.

Nothing here looks at wall time except to give up: simulated time moves on when the node under test has answered.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from shoal_ros import convert, topics, wires
from shoal_ros.domain import claim_domain
from shoal_ros.node_list import NodeSpec
from shoal_ros.spawn import Child

GIVE_UP_S = 40.0  # wall; a busy machine is no failure


class Bench:
    """`start` nodes, `listen` and `talk` on topics, and wait with `until`."""

    def __init__(self) -> None:
        self.domain = claim_domain()
        self.environment = self.domain.environment()
        os.environ |= self.environment
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=self.domain.number)
        self.node = rclpy.create_node("bench", context=self.context, start_parameter_services=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.children: list[Child] = []
        self._clock = wires.publisher(self.node, topics.CLOCK)
        self._clients: dict[str, Any] = {}

    def start(self, package: str, executable: str, **parameters: Any) -> Child:
        """As `shoal up` would."""
        child = Child(NodeSpec(package, executable, executable, parameters=parameters), self.environment)
        self.children.append(child)
        return child

    def listen(self, topic: topics.Topic, **names: str) -> list[Any]:
        """A list that grows with every message."""
        heard: list[Any] = []
        wires.subscription(self.node, topic, heard.append, **names)
        return heard

    def talk(self, topic: topics.Topic, **names: str) -> Any:
        """A publisher that somebody listens to already."""
        publisher = wires.publisher(self.node, topic, **names)
        self.until(lambda: publisher.get_subscription_count() > 0, f"a listener on {topic.name}")
        return publisher

    def tick(self, t_s: float) -> None:
        """Say what time it is."""
        message = wires.message_class(topics.CLOCK.type)()
        message.clock = convert.to_stamp(t_s)
        self._clock.publish(message)

    def spin(self, wall_s: float = 0.005) -> None:
        """Let messages in."""
        self.executor.spin_once(timeout_sec=wall_s)

    def until(self, condition: Callable[[], Any], what: str, act: Callable[[], None] | None = None) -> Any:
        """Spin until it holds, doing `act` again and again meanwhile; what it gave."""
        end = time.monotonic() + GIVE_UP_S
        while not (found := condition()):
            if time.monotonic() > end:
                said = "\n".join(f"{c.spec.name}: {line}" for c in self.children for line in c.lines[-20:])
                raise AssertionError(f"gave up waiting for {what}\n{said}")
            for child in self.children:
                assert child.running or child.code == 0 or getattr(child, "may_die", False), child.lines
            if act is not None:
                act()
            self.spin()
        return found

    def call(self, service: str) -> Trigger.Response:
        """A std_srvs/Trigger."""
        return self._call(Trigger, service, Trigger.Request())

    def set_parameters(self, node: str, **values: Any) -> list[str]:
        """All in one request; the reasons of those refused."""
        wanted = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        request = SetParameters.Request(parameters=wanted)
        results = self._call(SetParameters, f"{node}/set_parameters", request).results
        return [r.reason for r in results if not r.successful]

    def _call(self, kind: Any, service: str, request: Any) -> Any:
        client = self._clients.setdefault(service, self.node.create_client(kind, service))
        self.until(client.service_is_ready, service)
        future = client.call_async(request)
        self.until(future.done, f"an answer of {service}")
        return future.result()

    def close(self) -> None:
        """End what was started."""
        for child in self.children:
            child.end()
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)
        self.domain.close()


@contextmanager
def bench() -> Iterator[Bench]:
    """For fixtures; the environment is as before afterwards."""
    before = dict(os.environ)
    made = Bench()
    try:
        yield made
    finally:
        made.close()
        os.environ.clear()
        os.environ.update(before)
