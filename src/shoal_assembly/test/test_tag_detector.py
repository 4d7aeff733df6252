"""The detector as a real process: images of a partner in, the simulated camera's message out; bad input is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rclpy")

from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header, String

from shoal.fleet.file import load_fleet
from shoal.frames import from_euler, matrix, multiply
from shoal.messages import topics
from shoal.messages.docking import DockingOrder
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.recordings.docking_json import order_to_json
from shoal.vision.detector import tags_of
from shoal.vision.lens import LENS, Lens
from shoal.vision.rendering import Scene
from shoal_ros import convert
from shoal_ros.harness import Harness
from shoal_ros.node_list import NodeSpec

pytestmark = [pytest.mark.ros]
SMALL = Lens(640, 360, np.diag([0.5, 0.5, 1.0]) @ LENS.matrix, LENS.distortion)
NAMES = load_fleet("two").names
VEHICLE = load_fleet("two").vehicles[0].vehicle()
PORTS = {p.name: p for p in VEHICLE.ports}


def info(width: int = SMALL.width) -> CameraInfo:
    matrix_ = SMALL.matrix.ravel().tolist()
    return CameraInfo(height=SMALL.height, width=width, distortion_model="plumb_bob", k=matrix_,
                      d=SMALL.distortion.tolist())  # fmt: skip


def image_of(pixels: NDArray[np.uint8], stamp_s: float, encoding: str = "mono8") -> Image:
    colours = {"mono8": 1, "bgr8": 3}.get(encoding, 1)
    data = np.repeat(pixels[..., None], colours, axis=2)
    rows = np.pad(data.reshape(pixels.shape[0], -1), ((0, 0), (0, 8)))  # rows may be longer than their pixels
    header = Header(stamp=convert.to_stamp(stamp_s), frame_id="camera")
    return Image(header=header, height=pixels.shape[0], width=pixels.shape[1], encoding=encoding,
                 step=rows.shape[1], data=rows.tobytes())  # fmt: skip


def test_images_become_sightings_of_the_port_that_is_docked_with() -> None:
    own, other = State.at_rest((0.0, 0.0, 5.0)).array, State.at_rest((1.6, 0.2, 5.1)).array
    other[ATTITUDE] = from_euler(0.05, -0.04, 0.35)
    camera, marker = PORTS["bow"].camera, PORTS["stern"].marker
    assert camera is not None and marker is not None
    # rov1's stern is seen by rov2's bow camera; rov1 has the ids of the first vehicle.
    number = next(n for n, tag in tags_of(dict.fromkeys(NAMES, VEHICLE.ports)).items()
                  if (tag.vehicle, tag.port) == (NAMES[0], "stern"))  # fmt: skip
    pixels = Scene(SMALL, camera, VEHICLE, marker, number).image(own, other, np.random.default_rng(4))
    with Harness() as harness:
        heard = harness.listen(topics.FIDUCIAL, vehicle=NAMES[1], other=NAMES[0])
        names = {"vehicle": NAMES[1], "port": "bow"}
        images, infos = (harness.publisher(t, **names) for t in (topics.CAMERA_IMAGE, topics.CAMERA_INFO))
        orders = harness.publisher(topics.SET_DOCKING)
        harness.start(NodeSpec("shoal_assembly", "tag_detector", "tag_detector", f"/{NAMES[1]}",
                               {"fleet": "two", "vehicle": NAMES[1], "port": "bow"}))  # fmt: skip
        harness.spin(lambda: all(p.get_subscription_count() for p in (images, infos, orders)), "the node")
        stamp_s = 7.0

        calibration, order = info(), DockingOrder(0, "undock", NAMES[0], "stern", NAMES[1], "bow")

        def show(message: Any, until: Any, what: str) -> None:
            """With its calibration, as cameras do: what is sent once may come before the node has found its sender."""

            def sent() -> bool:
                orders.publish(String(data=order_to_json(order)))
                infos.publish(calibration)
                images.publish(message)
                return bool(until())

            harness.spin(sent, what)

        show(image_of(pixels, stamp_s), lambda: orders.wait_for_all_acked(), "the start")
        harness.linger(0.5)
        assert heard == []  # nobody docks
        order = DockingOrder(1, "dock", NAMES[0], "bow", NAMES[1], "bow")  # it is the stern that is in view
        shown = iter(range(20))
        show(image_of(pixels, stamp_s), lambda: next(shown) == 19, "twenty images")
        harness.linger(0.5)
        assert heard == []
        order = DockingOrder(2, "dock", NAMES[0], "stern", NAMES[1], "bow")
        show(image_of(pixels, stamp_s), lambda: heard, "a sighting")
        judge(heard[0], own, other, stamp_s)
        heard.clear()
        show(image_of(pixels, 8.0, "bgr8"), lambda: any(convert.from_stamp(m.header.stamp) == 8.0 for m in heard),
             "a sighting in colour")  # fmt: skip
        judge(heard[-1], own, other, 8.0)
        show(image_of(pixels, 9.0, "bayer_rggb8"), lambda: "encoding = 'bayer_rggb8'; expected one of mono8"
             in harness.output(), "the refusal")  # fmt: skip
        calibration = info(SMALL.width - 2)
        show(image_of(pixels, 9.0), lambda: "640 × 360 pixels; expected 638 × 360 as on" in harness.output(),
             "the other refusal")  # fmt: skip
        assert all(convert.from_stamp(m.header.stamp) < 9.0 for m in heard)


def judge(message: Any, own: NDArray[np.float64], other: NDArray[np.float64], stamp_s: float) -> None:
    """Against the scene that the image was made of."""
    marker = PORTS["stern"].marker
    assert marker is not None
    assert message.header.frame_id == f"{NAMES[1]}/base_link"
    seen = convert.fiducial_from_message(message, "it")
    place = own[POSITION] + matrix(own[ATTITUDE]) @ seen.marker_m
    truth = other[POSITION] + matrix(other[ATTITUDE]) @ marker.place_m
    conjugate = np.array([1.0, -1, -1, -1])
    off = multiply(seen.attitude * conjugate, multiply(own[ATTITUDE] * conjugate, other[ATTITUDE]))
    assert seen.stamp_s == pytest.approx(stamp_s)
    assert np.linalg.norm(place - truth) < 0.05
    assert math.degrees(2 * np.linalg.norm(off[1:])) < 8.0


def test_a_port_without_camera_is_refused() -> None:
    with Harness() as harness:
        harness.start(NodeSpec("shoal_assembly", "tag_detector", "tag_detector", f"/{NAMES[1]}",
                               {"fleet": "two", "vehicle": NAMES[1], "port": "starboard"}))  # fmt: skip
        child = harness.children[f"/{NAMES[1]}/tag_detector"]
        harness.spin(lambda: not child.running, "its end")
        assert child.code == 2
        assert "port = 'starboard': 'rov2' has no camera there; expected one of bow, stern" in harness.output()
