"""The `display` node: /markers and /tf out of odometry, plans and setpoint. Idle while nobody subscribes."""

from __future__ import annotations

import importlib
from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.subscription import Subscription
from visualization_msgs.msg import MarkerArray

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.messages import topics
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal_ros import convert, endpoints, markers, process
from shoal_ros.parameters import declare


class DisplayNode(Node):
    """Its subscriptions exist only while somebody subscribes to what it makes of them."""

    def __init__(self) -> None:
        super().__init__("display")
        self.fleet = load_fleet(declare(self, "fleet", "two", "fleet name or file"))
        rate_hz = declare(self, "rate_hz", 10.0, "Hz, of markers and transforms", low=0.1, high=60.0)
        self._markers = endpoints.publisher(self, topics.MARKERS)
        self._tf = self._tf_publisher()
        self._group = endpoints.Polled()
        self._inputs: dict[tuple[str, str], Subscription] = {}
        self._odometry: dict[str, Odometry] = {}
        self._plans: dict[str, Plan] = {}
        self._setpoint: Any = None
        self.create_timer(1.0 / rate_hz, self._draw)

    def _tf_publisher(self) -> Any:
        """None without tf2_msgs, which the PyPI wheels do not have."""
        try:
            importlib.import_module("tf2_msgs.msg")
        except ImportError:
            self.get_logger().info("no tf2_msgs here: no /tf")
            return None
        return endpoints.publisher(self, topics.TF)

    def _draw(self) -> None:
        markers_wanted = self._markers.get_subscription_count() > 0
        tf_wanted = self._tf is not None and self._tf.get_subscription_count() > 0
        if not (markers_wanted or tf_wanted):
            self._unsubscribe()
            return
        self._subscribe()
        self._read()
        if markers_wanted:
            self._markers.publish(MarkerArray(markers=self._all_markers()))
        if tf_wanted:
            message = endpoints.message_class(topics.TF.type)
            self._tf.publish(message(transforms=[transform(n, o) for n, o in self._odometry.items()]))

    def _subscribe(self) -> None:
        if self._inputs:
            return
        for name in self.fleet.names:
            for topic in (topics.ODOMETRY, topics.PLAN):
                self._inputs[name, topic.name] = endpoints.polled(self, topic, self._group, raw=True, vehicle=name)
        self._inputs["", topics.SETPOINT.name] = endpoints.polled(self, topics.SETPOINT, self._group)

    def _unsubscribe(self) -> None:
        for waiting in self._inputs.values():
            self.destroy_subscription(waiting)
        self._inputs.clear()

    def _read(self) -> None:
        for (name, topic), waiting in self._inputs.items():
            for message, _ in endpoints.take_all(waiting)[-1:]:
                if topic == topics.ODOMETRY.name:
                    self._odometry[name] = convert.odometry_from_bytes(message)
                elif topic == topics.SETPOINT.name:
                    self._setpoint = message
                else:
                    self._take_plan(name, message)

    def _take_plan(self, name: str, data: bytes) -> None:
        try:
            self._plans[name] = convert.plan_from_bytes(data)
        except ShoalError as error:
            self.get_logger().error(f"{name}: {error}", throttle_duration_sec=5.0)

    def _all_markers(self) -> list[Any]:
        made: list[Any] = []
        for index, name in enumerate(self.fleet.names):
            if name in self._odometry:
                made += markers.vehicle_markers(index, name, self._odometry[name], self.fleet.limits.sight_hard_deg)
            if name in self._plans:
                made.append(markers.plan_marker(index, self._plans[name]))
        if self._setpoint is not None:
            stamp_s = convert.from_stamp(self._setpoint.header.stamp)
            made.append(markers.setpoint_marker(stamp_s, self._setpoint.pose))
        return made


def transform(name: str, odometry: Odometry) -> TransformStamped:
    """map → <vehicle>/base_link."""
    pose = convert.to_pose(odometry.position_m, odometry.attitude)
    message = TransformStamped(child_frame_id=convert.body_frame(name))
    message.header.stamp, message.header.frame_id = convert.to_stamp(odometry.stamp_s), convert.WORLD
    move = message.transform
    move.translation.x, move.translation.y, move.translation.z = pose.position.x, pose.position.y, pose.position.z
    move.rotation = pose.orientation
    return message


def main() -> None:
    """`ros2 run shoal_ros display`."""
    process.run(DisplayNode)


if __name__ == "__main__":
    main()
