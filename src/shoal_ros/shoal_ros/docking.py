"""A vehicle's part in dockings on ROS: orders and sightings in, the status out."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import String

from shoal.docking.part import DockingPart
from shoal.errors import ShoalError
from shoal.fleet.membership import Membership
from shoal.messages import topics
from shoal.messages.docking import DockingFeedback
from shoal.recordings.docking_json import order_from_json, status_to_json
from shoal_ros import convert, endpoints

EVERY_S = 0.2  # the status, while it changes


class DockingEndpoints:
    """Listens for a fiducial only while two dock. Sightings are read when a step needs them."""

    def __init__(self, node: Node, part: DockingPart, membership: Membership) -> None:
        self._node, self.part, self._membership = node, part, membership
        self._polled = endpoints.Polled()
        self._fiducial: tuple[str, Subscription] | None = None  # by its topic
        self._out = endpoints.publisher(node, topics.DOCKING, vehicle=part.me)
        endpoints.subscription(node, topics.SET_DOCKING, self._on_order)
        self._sent: DockingFeedback | None = None
        self._sent_s = 0.0
        self.share(0.0)

    def _on_order(self, message: String) -> None:
        logger = self._node.get_logger()
        try:
            order = order_from_json(message.data)
        except ShoalError as error:
            logger.error(str(error))
            return
        try:
            if self.part.on_order(order):
                logger.info(f"docking {order.counter}: {order.action} {order.follower} at {order.leader}")
        except ShoalError as error:
            logger.error(f"{topics.SET_DOCKING.name}: {error}")
        self._watch()

    def _watch(self) -> None:
        """Of a group one member's camera watches the way to the port, and another one may fly."""
        seer, partner = self.part.seer, self.part.partner
        topic = topics.FIDUCIAL.of(vehicle=seer, other=partner)
        if self._fiducial is not None and (not partner or self._fiducial[0] != topic):
            self._node.destroy_subscription(self._fiducial[1])
            self._fiducial = None
        if partner and self._fiducial is None:
            waiting = endpoints.polled(self._node, topics.FIDUCIAL, self._polled, vehicle=seer, other=partner)
            self._fiducial = topic, waiting

    def read(self) -> None:
        """Before each step: what the camera has found, and whether we are on our own."""
        if self._fiducial is not None:
            topic, waiting = self._fiducial
            for message, _ in endpoints.take_all(waiting):
                try:
                    self.part.on_sighting(convert.fiducial_from_message(message, topic))
                except ShoalError as error:
                    self._node.get_logger().error(str(error), throttle_duration_sec=1.0)
        self.part.tick(self._membership.members)
        self._membership.approaching = self.part.near
        self._watch()

    def share(self, t_s: float) -> None:
        """After each step: the status, when it has changed; new phases at once."""
        status, sent = self.part.status, self._sent
        new = sent is None or _words(status) != _words(sent)
        if status != sent and (new or not 0 <= t_s - self._sent_s < EVERY_S - 1e-6):
            self._out.publish(String(data=status_to_json(status)))
            self._sent, self._sent_s = status, t_s


def _words(status: DockingFeedback) -> tuple[object, ...]:
    return status.counter, status.phase, status.reason, status.refused
