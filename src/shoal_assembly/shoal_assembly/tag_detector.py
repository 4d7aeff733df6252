"""The `tag_detector` node: AprilTags in the images of one port's camera, published as the simulated camera's sightings.

While an order docks this port, the tag of the other's port is looked for; at other times images are not even opened.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import String

from shoal.docking.ports_by_name import port_of
from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.messages import topics
from shoal.messages.docking import DockingOrder
from shoal.recordings.docking_json import order_from_json
from shoal.vision.detector import TagDetector, tags_of
from shoal.vision.lens import Lens
from shoal_ros import convert, endpoints, process
from shoal_ros.parameters import declare

CHANNELS = {"mono8": 1, "8UC1": 1, "rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4}
MODELS = (
    "plumb_bob",
    "rational_polynomial",
    "",
)  # of distortion; empty where there are no coefficients


class TagDetectorNode(Node):
    """Of one camera."""

    def __init__(self, **options: Any) -> None:
        super().__init__("tag_detector", **options)
        fleet = load_fleet(declare(self, "fleet", "two", "fleet file, or the name of one in config/fleets"))
        self.vehicle = declare(self, "vehicle", fleet.names[0], "whose camera it is")
        port = declare(self, "port", "bow", "the port that the camera watches")
        ports = {member.name: member.vehicle().ports for member in fleet.vehicles}
        if self.vehicle not in ports:
            raise ShoalError(f"vehicle = '{self.vehicle}'; expected one of {', '.join(ports)}")
        self._port = port_of(self.vehicle, ports[self.vehicle], port)
        if self._port.camera is None:
            seeing = ", ".join(p.name for p in ports[self.vehicle] if p.camera is not None) or "none has one"
            raise ShoalError(f"port = '{port}': '{self.vehicle}' has no camera there; expected one of {seeing}")
        self._tags = tags_of({n: its if n != self.vehicle else () for n, its in ports.items()})
        self._order: DockingOrder | None = None
        self._lens: Lens | None = None
        self._detector: TagDetector | None = None
        names = {"vehicle": self.vehicle, "port": port}
        self._info_topic, self._image_topic = topics.CAMERA_INFO.of(**names), topics.CAMERA_IMAGE.of(**names)
        self._out = {n: endpoints.publisher(self, topics.FIDUCIAL, vehicle=self.vehicle, other=n)
                     for n in fleet.names if n != self.vehicle}  # fmt: skip
        endpoints.subscription(self, topics.SET_DOCKING, self._on_order)
        endpoints.subscription(self, topics.CAMERA_INFO, self._on_info, **names)
        endpoints.subscription(self, topics.CAMERA_IMAGE, self._on_image, **names)

    def _on_order(self, message: String) -> None:
        try:
            order = order_from_json(message.data)
        except ShoalError as error:
            self.get_logger().error(str(error))
            return
        if self._order is None or order.counter > self._order.counter:
            self._order = order

    def _sought(self) -> tuple[str, str] | None:
        """Vehicle and port whose tag counts: the message does not say which tag it was."""
        o = self._order
        if o is None or o.action == "undock":
            return None
        if (o.leader, o.leader_port) == (self.vehicle, self._port.name):
            return o.follower, o.follower_port
        if (o.follower, o.follower_port) == (self.vehicle, self._port.name):
            return o.leader, o.leader_port
        return None

    def _on_info(self, message: CameraInfo) -> None:
        try:
            if message.distortion_model not in MODELS:
                raise ShoalError(
                    f"{self._info_topic}: distortion_model = '{message.distortion_model}'; expected {MODELS[0]}"
                )
            lens = Lens.of(message.width, message.height, message.k, message.d, self._info_topic)
        except ShoalError as error:
            self.get_logger().error(str(error), throttle_duration_sec=5.0)
            return
        if self._lens is None or not lens.same(self._lens):
            assert self._port.camera is not None
            self._lens, self._detector = lens, TagDetector(lens, self._port.camera, self._tags)

    def _on_image(self, message: Image) -> None:
        sought = self._sought()
        if sought is None:
            return
        try:
            grey = self._grey(message)
            if self._lens is None or self._detector is None:
                raise ShoalError(f"{self._image_topic}: images without a calibration; expected {self._info_topic}")
            if grey.shape != (self._lens.height, self._lens.width):
                raise ShoalError(
                    f"{self._image_topic}: {message.width} × {message.height} pixels; "
                    f"expected {self._lens.width} × {self._lens.height} as on {self._info_topic}"
                )
        except ShoalError as error:
            self.get_logger().error(str(error), throttle_duration_sec=5.0)
            return
        for found in self._detector.find(grey, convert.from_stamp(message.header.stamp)):
            if (found.tag.vehicle, found.tag.port) == sought:
                self._out[found.tag.vehicle].publish(convert.fiducial_to_message(found.pose, self.vehicle))

    def _grey(self, message: Image) -> NDArray[np.uint8]:
        channels = CHANNELS.get(message.encoding)
        if channels is None:
            known = ", ".join(CHANNELS)
            raise ShoalError(f"{self._image_topic}: encoding = '{message.encoding}'; expected one of {known}")
        if message.step < channels * message.width or len(message.data) != message.step * message.height:
            raise ShoalError(
                f"{self._image_topic}: {len(message.data)} bytes, step = {message.step}; expected {message.height} "
                f"rows of {channels * message.width} bytes at least"
            )
        rows = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)
        pixels = rows[:, : channels * message.width].reshape(message.height, message.width, channels)
        if channels == 1:
            return np.ascontiguousarray(pixels[..., 0])
        weights = np.array([0.299, 0.587, 0.114])  # of red, green and blue in what is seen as grey (BT.601)
        weights = weights[::-1] if message.encoding.startswith("b") else weights
        return np.asarray(np.round(pixels[..., :3] @ weights), dtype=np.uint8)


def main() -> None:
    """Entry point."""
    process.run(TagDetectorNode)


if __name__ == "__main__":
    main()
