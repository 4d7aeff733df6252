"""How every input device reaches a vehicle's autopilot: JSON on `/<vehicle>/pilot`, again and again."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rclpy.node import Node
from std_msgs.msg import String

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.messages import topics
from shoal_ros import endpoints, process
from shoal_ros.parameters import declare

CENTRED: Mapping[str, object] = {"sticks": {}}


class PilotPublisher:
    """For the vehicle that the parameter `vehicle` names."""

    def __init__(self, node: Node) -> None:
        fleet = declare(node, "fleet", "one", "fleet name or file")
        self.vehicle = declare(node, "vehicle", node.get_namespace().strip("/"), "whose pilot: its name in the fleet")
        names = load_fleet(fleet).names
        if self.vehicle not in names:
            raise ShoalError(f"vehicle = '{self.vehicle}': not in fleet '{fleet}'; expected one of: {', '.join(names)}")
        self._publisher = endpoints.publisher(node, topics.PILOT, vehicle=self.vehicle)

    @property
    def listened_to(self) -> bool:
        """Whether an autopilot is there."""
        return bool(self._publisher.get_subscription_count() > 0)

    def send(self, message: Mapping[str, object] | str) -> None:
        """As an object or as text that is JSON already."""
        self._publisher.publish(String(data=message if isinstance(message, str) else json.dumps(message)))

    def last(self) -> None:
        """Sticks centred, before the node goes: sooner than the autopilot's time-out."""
        self.send(CENTRED)
        process.flush([self._publisher], wall_s=1.0)
