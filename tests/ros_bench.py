"""The harness with a clock of its own: the test plays the plant, and simulated time moves when nodes have answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from std_srvs.srv import Trigger

from shoal.messages import topics
from shoal_ros import convert, endpoints
from shoal_ros.harness import Harness
from shoal_ros.node_list import NodeSpec
from shoal_ros.spawn import Child

GIVE_UP_S = 60.0  # wall; a busy machine is no failure


class Bench(Harness):
    """`run` nodes, `talk` to them, `tick` the clock, and wait with `until`."""

    def __init__(self) -> None:
        super().__init__("bench")
        self._clock = self.publisher(topics.CLOCK)

    def run(self, package: str, executable: str, **parameters: Any) -> Child:
        """One node, as `shoal up` would start it."""
        spec = NodeSpec(package, executable, executable, parameters=parameters)
        self.start(spec)
        return self.children[spec.full_name]

    def talk(self, topic: topics.Topic, **names: str) -> Any:
        """A publisher that somebody listens to already."""
        made = self.publisher(topic, **names)
        self.until(lambda: made.get_subscription_count() > 0, f"a listener on {topic.name}")
        return made

    def tick(self, t_s: float) -> None:
        """Say what time it is."""
        message = endpoints.message_class(topics.CLOCK.type)()
        message.clock = convert.to_stamp(t_s)
        self._clock.publish(message)

    def until(self, condition: Callable[[], object], what: str, act: Callable[[], object] | None = None) -> None:
        """Spin until it holds, doing `act` again and again meanwhile."""

        def asked() -> object:
            found = condition()
            if not found and act is not None:
                act()
            return found

        self.spin(asked, what, GIVE_UP_S)

    def trigger(self, service: str) -> Trigger.Response:
        """A std_srvs/Trigger."""
        return self.call(Trigger, service, Trigger.Request(), GIVE_UP_S)

    def refusal(self, node: str, **values: Any) -> str:
        """Set parameters, all in one request; why not, or nothing."""
        result = self.set_parameters(node, values)
        return "" if result.successful else str(result.reason) or "refused"


@contextmanager
def bench() -> Iterator[Bench]:
    """For fixtures."""
    with Bench() as made:
        yield made
