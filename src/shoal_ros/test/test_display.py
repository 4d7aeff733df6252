"""Markers for subscribers, and no work without."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import PoseStamped
from visualization_msgs.msg import Marker

from shoal.messages import topics
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal_ros import convert, display, markers
from shoal_ros.harness import Harness
from shoal_ros.node_list import NodeSpec

pytestmark = pytest.mark.ros
NORTH = Odometry.of_parts(1.0, np.array([1.0, 2.0, 5.0]), np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))


def test_vehicle_markers_stand_where_the_vehicle_is() -> None:
    body, text, cone = markers.vehicle_markers(0, "a", NORTH, 60.0)
    for marker in (body, cone):
        p = marker.pose.position
        assert (p.x, p.y, p.z) == (2.0, 1.0, -5.0)
    assert text.pose.position.z == -4.5 and text.text == "a"
    rim = [(p.x, p.y, p.z) for p in cone.points if p.x > 0]
    angles = [np.degrees(np.arctan2(np.hypot(y, z), x)) for x, y, z in rim]
    assert angles == pytest.approx([60.0] * len(rim))
    assert len(cone.points) % 2 == 0  # a list of lines


def test_a_plan_of_one_point_is_no_line() -> None:
    positions = np.zeros((3, 3))
    line = markers.plan_marker(0, Plan("a", 1, 0.0, np.arange(3.0), positions, positions))
    assert line.action == Marker.ADD and len(line.points) == 3
    dot = markers.plan_marker(0, Plan("a", 1, 0.0, np.zeros(1), positions[:1], positions[:1]))
    assert dot.action == Marker.DELETE


def test_neighbours_differ_in_colour() -> None:
    colours = {(c.r, c.g, c.b) for c in map(markers.colour, range(10))}
    assert len(colours) == 10


def test_transform() -> None:
    message = display.transform("a", NORTH)
    assert (message.header.frame_id, message.child_frame_id) == ("map", "a/base_link")
    assert message.transform.translation.x == 2.0
    assert message.transform.rotation.z == pytest.approx(np.sin(np.pi / 4))  # north is 90° from east


def test_works_only_while_somebody_looks() -> None:
    with Harness() as harness:
        odometry = harness.publisher(topics.ODOMETRY, vehicle="rov1")
        plan, setpoint = harness.publisher(topics.PLAN, vehicle="rov1"), harness.publisher(topics.SETPOINT)
        harness.start(NodeSpec("shoal_ros", "display", "display", parameters={"fleet": "two"}))
        harness.spin(lambda: harness.node.count_publishers(topics.MARKERS.name), "the display")
        harness.linger(0.5)
        assert odometry.get_subscription_count() == 0
        seen = harness.listen(topics.MARKERS)
        harness.spin(lambda: odometry.get_subscription_count() and setpoint.get_subscription_count(), "it to look")
        three = np.zeros((3, 3))

        def spaces() -> set[str]:
            odometry.publish(convert.odometry_to_message(NORTH, "rov1"))
            plan.publish(convert.plan_to_bytes(Plan("rov1", 1, 1.0, np.arange(3.0), three, three)))
            setpoint.publish(PoseStamped())
            return {m.ns for m in seen[-1].markers} if seen else set()

        parts = {f"rov1/{part}" for part in ("body", "name", "cone", "plan")}
        harness.spin(lambda: spaces() == parts | {"fleet/setpoint"}, "markers")
