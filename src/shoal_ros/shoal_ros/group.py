"""What joined vehicles send each other: odometry, estimates and the thrust of the one that flies."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from std_msgs.msg import Float64, String

from shoal.errors import ShoalError
from shoal.fleet.membership import Membership
from shoal.messages import topics
from shoal.messages.command import Command
from shoal.recordings.assembly_json import (
    group_command_from_json,
    group_command_to_json,
    joining_from_json,
    joining_to_json,
    knowledge_from_json,
    knowledge_to_json,
    ownership_to_json,
)
from shoal.vehicles.description import Vehicle
from shoal_ros import convert, endpoints
from shoal_ros.publishers import PublisherWatch

DISCOVERY_S = 5.0  # wall: DDS finds whoever is there within that, also on a busy machine
TELL_S = 0.4  # between two messages of who owns us, without a change: a sign of life, too


class GroupEndpoints:
    """Listens to its mates only while it has some. `relay` gets our share of a pilot's thrust, at once."""

    def __init__(
        self,
        node: Node,
        membership: Membership,
        vehicles: Mapping[str, Vehicle],
        relay: Callable[[list[float]], None],
        now: Callable[[], float],
        watch: PublisherWatch,
    ) -> None:
        """`watch`: learns which controllers may drive our thrusters as well."""
        self._watch = watch
        self._node, self._part, self._vehicles, self._relay, self._now = node, membership, vehicles, relay, now
        self._polled = endpoints.Polled()
        self._odometry: dict[str, Subscription] = {}
        self._estimates: dict[str, Subscription] = {}
        self._thrust: dict[str, Subscription] = {}
        self._direct: dict[str, list[Publisher]] = {}  # to thrusters of mates whose computer is silent
        self._heard: set[str] = set()  # mates whose estimates have reached us
        self._since = time.monotonic()  # when we began to listen to mates
        membership.connected = self._connected
        me = membership.me
        self._command = endpoints.publisher(node, topics.GROUP_THRUST, vehicle=me)
        self._estimate = endpoints.publisher(node, topics.ESTIMATE, vehicle=me)
        self._order = endpoints.publisher(node, topics.SET_ASSEMBLY)
        self._owner = endpoints.publisher(node, topics.OWNER, vehicle=me)
        self._told: tuple[str, float] = ("", -math.inf)
        endpoints.subscription(node, topics.ASSEMBLY, self._on_assembly)

    # -- messages in --------------------------------------------------------------------------------------------

    def _on_assembly(self, message: String) -> None:
        part = self._part
        try:
            self.read()  # the mates' newest estimates count
            before = part.members
            if not part.on_assembly(joining_from_json(message.data), self._now()):
                return
        except ShoalError as error:
            self._node.get_logger().error(f"{topics.ASSEMBLY.name}: {error}")
            return
        if part.members != before:
            self._node.get_logger().info(f"joined: {' + '.join(part.members)}" if part.members else "swims alone")
        me = self._node.get_name()
        self._watch.allowed = frozenset(f"/{mate}/{me}" for mate in part.members)
        self.follow()

    def follow(self) -> None:
        """Listen to those that are our mates now."""
        node, mates = self._node, self._part.mates
        for name in [n for n in self._odometry if n not in mates]:
            for waiting in (self._odometry, self._estimates, self._thrust):
                node.destroy_subscription(waiting.pop(name))
            for publisher in self._direct.pop(name, []):
                node.destroy_publisher(publisher)
        if mates and not self._odometry:
            self._since = time.monotonic()
        self._heard &= set(mates)
        for name in [n for n in mates if n not in self._odometry]:
            self._odometry[name] = endpoints.polled(node, topics.ODOMETRY, self._polled, raw=True, vehicle=name)
            self._estimates[name] = endpoints.polled(node, topics.ESTIMATE, self._polled, vehicle=name)
            self._thrust[name] = endpoints.subscription(node, topics.GROUP_THRUST, self._on_thrust, vehicle=name)
        for name in [n for n in self._part.members if n != self._part.me and n not in self._direct]:
            self._direct[name] = [
                endpoints.publisher(node, topics.THRUST, vehicle=name, thruster=t)
                for t in self._vehicles[name].input_names
            ]

    def _on_thrust(self, message: String) -> None:
        try:
            share = self._part.on_command(group_command_from_json(message.data), self._now())
        except ShoalError as error:
            self._node.get_logger().error(str(error), throttle_duration_sec=1.0)
            return
        if share is not None:
            self._relay(share.tolist())

    def read(self) -> None:
        """Take in what the mates have sent."""
        if not self._odometry:
            return
        now_s = self._now()
        for name, waiting in self._odometry.items():
            for data, _ in endpoints.take_all(waiting)[-1:]:
                self._part.on_mate_odometry(name, convert.odometry_from_bytes(data))
        for name, waiting in self._estimates.items():
            for message, _ in endpoints.take_all(waiting)[-1:]:
                try:
                    self._part.on_mate_knowledge(name, knowledge_from_json(message.data), now_s)
                    self._heard.add(name)
                except ShoalError as error:
                    self._node.get_logger().error(str(error), throttle_duration_sec=1.0)

    def _connected(self) -> bool:
        """Heard of all mates, or listened for so long (wall) that whoever is silent has nothing to say."""
        mates = set(self._part.members) - {self._part.me}
        return mates <= self._heard or time.monotonic() - self._since > DISCOVERY_S

    # -- messages out -------------------------------------------------------------------------------------------

    def share(self) -> None:
        """After each step: what we know, while somebody is joined to us or about to be."""
        if self._odometry and (known := self._part.knowledge()) is not None:
            self._estimate.publish(String(data=knowledge_to_json(known)))

    @property
    def unknown(self) -> bool:
        """Whether we have just started and somebody is about to tell us whom we are joined to: until then we wait."""
        return self._part.joining.counter < 0 and self._node.count_publishers(topics.ASSEMBLY.name) > 0

    def tell_owner(self, t_s: float) -> None:
        """Whose commands our thrusters obey."""
        owner = self._part.ownership
        if owner is None or owner.assembly < 0:
            return
        text, last_s = ownership_to_json(owner), self._told[1]
        if text != self._told[0] or not 0 <= t_s - last_s < TELL_S:
            self._told = text, t_s
            self._owner.publish(String(data=text))

    def fly(self, command: Command, t_s: float) -> list[float]:
        """Send everybody its part of our thrust; returns our own."""
        part = self._part
        shares = part.shares_N(command.thrust_N)
        if part.members:
            self._command.publish(String(data=group_command_to_json(part.group_command(command, t_s))))
            for name in part.silent_mates(t_s):
                for publisher, force_N in zip(self._direct.get(name, ()), shares[name].tolist(), strict=False):
                    publisher.publish(Float64(data=force_N))
            if (order := part.broken()) is not None:
                self._node.get_logger().error(
                    f"a joint of {' + '.join(part.members)} has come apart: giving it up", throttle_duration_sec=1.0
                )
                self._order.publish(String(data=joining_to_json(order)))
        return [float(x) for x in shares[part.me]]
