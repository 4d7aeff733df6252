"""The port keeper as a real process; the test is Gazebo: odometry, and the states of its latches."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
from std_msgs.msg import Empty, String

from shoal.messages import topics
from shoal.messages.docking import DockingOrder
from shoal.messages.joining import Joining
from shoal.messages.odometry import Odometry
from shoal.recordings.assembly_json import joining_from_json
from shoal.recordings.docking_json import order_to_json
from shoal_gazebo.latches import ATTACH, DETACH, STATE, LatchPair
from shoal_ros import convert
from shoal_ros.harness import Harness
from shoal_ros.node_list import NodeSpec
from test_latches import states

pytestmark = pytest.mark.ros
PAIR = LatchPair("rov1", "rov2")


class Gazebo:
    """Its latch is closed at first, as the real one's."""

    def __init__(self, harness: Harness) -> None:
        self.h, self.attached, self.t_s = harness, True, 0.0
        node = harness.node
        self.state = node.create_publisher(String, PAIR.topic(STATE), 1)
        node.create_subscription(Empty, PAIR.topic(ATTACH), lambda _: self.order(True), 1)
        node.create_subscription(Empty, PAIR.topic(DETACH), lambda _: self.order(False), 1)
        self.odometry = {n: harness.publisher(topics.ODOMETRY, vehicle=n) for n in ("rov1", "rov2")}
        self.fiducials = harness.listen(topics.FIDUCIAL, vehicle="rov1", other="rov2")
        self.assembly = harness.listen(topics.ASSEMBLY)
        self.docking = harness.publisher(topics.SET_DOCKING)

    def order(self, attach: bool) -> None:
        if attach is not self.attached:
            self.attached = attach
            self.state.publish(String(data="attached" if attach else "detached"))

    def swim(self, gap_m: float) -> None:
        self.t_s += 0.02
        for name, state in states(gap_m).items():
            self.odometry[name].publish(convert.odometry_to_message(Odometry(self.t_s, state), name))
        self.h.linger(0.02)

    @property
    def joined(self) -> Joining:
        return joining_from_json(self.assembly[-1].data) if self.assembly else Joining(-1)


@pytest.fixture
def g() -> Iterator[Gazebo]:
    with Harness() as harness:
        yield Gazebo(harness)


def test_two_dock_stay_joined_over_a_crash_and_part(g: Gazebo) -> None:
    keeper = NodeSpec("shoal_gazebo", "port_keeper", "port_keeper", parameters={"fleet": "two"})
    g.h.start(keeper)
    g.h.spin(lambda: not g.attached, "the latch to be opened at the start")
    g.h.spin(lambda: g.docking.get_subscription_count() == 1, "the keeper")
    g.docking.publish(String(data=order_to_json(DockingOrder(1, "dock", "rov1", "bow", "rov2", "bow"))))
    g.h.spin(lambda: g.swim(0.8) or len(g.fiducials) > 3, "sightings")
    assert not g.attached and g.joined.joints == ()
    g.h.spin(lambda: g.swim(0.01) or g.attached, "the latch")
    g.h.spin(lambda: [sorted(j.pair) for j in g.joined.joints] == [["rov1", "rov2"]], "the fleet to be told")

    node = g.h.children["/port_keeper"]
    node.signal(signal.SIGKILL)
    assert node.wait(20)
    g.assembly.clear()
    g.h.start(keeper)
    g.h.spin(lambda: len(g.joined.joints) == 1, "its memory")
    g.h.linger(1.5)
    assert g.attached  # nothing was opened

    def undock() -> bool:
        g.docking.publish(String(data=order_to_json(DockingOrder(2, "undock", "rov1", "bow", "rov2", "bow"))))
        g.h.linger(0.05)
        return not g.attached

    g.h.spin(undock, "the latch to open")
    g.h.spin(lambda: g.joined.joints == (), "the fleet to be told")
