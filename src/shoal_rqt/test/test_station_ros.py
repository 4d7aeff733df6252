"""The real station, offscreen, against a real fleet: every node a process of its own, over Fast DDS.

Nothing asserts on wall time; how long something takes is counted in the fleet's own time and messages.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
pytest.importorskip("pyqtgraph")
from PySide6 import QtTest  # the tests' own mouse and keyboard
from rclpy.qos import QoSProfile
from std_msgs.msg import UInt64

from shoal.messages import topics
from shoal_ros import convert, endpoints
from shoal_ros.harness import Harness
from shoal_ros.qos import PROFILES
from shoal_rqt.qt import Qt, QtCore
from shoal_rqt.vehicle_state import FOLLOWING
from shoal_rqt.widgets.tuning_panel import VALUE
from station_world import World

pytestmark = pytest.mark.ros
VEHICLES = ("rov1", "rov2")
THRUSTERS = tuple(f"thruster{i}" for i in range(1, 9))
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(scope="module")
def w(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Harness() as b, pytest.MonkeyPatch.context() as patch:
        for key, value in b.domain.environment().items():
            patch.setenv(key, value)
        world = World(b, tmp_path_factory.mktemp("recordings"))

        def complete() -> bool:
            vehicles = world.model.vehicles
            return len(vehicles) == 2 and all(v.plan is not None and v.status is not None for v in vehicles.values())

        try:
            world.until(lambda: complete() and world.t_s > 0.5, "the fleet")
            yield world
        finally:
            world.close()


def test_it_shows_what_the_fleet_publishes(w: World) -> None:
    model = w.model
    w.until(lambda: model.mode == "hold" and model.sight_pairs and model.preview is not None, "guidance")
    w.until(lambda: model.fleet is not None, "the fleet file's name")
    assert set(model.sight_pairs) == {("rov1", "rov2"), ("rov2", "rov1")}
    assert model.vehicles["rov1"].thrust_limits_N[1] == pytest.approx(
        [39.9, 39.9, 51.4, 51.4, 39.9, 51.4, 51.4, 39.9], abs=0.1
    )
    w.until(lambda: all(np.isfinite(v.thrust_N).all() for v in model.vehicles.values()), "thrust")
    w.until(lambda: "rov2" in model.vehicles["rov1"].reported, "sight")
    cards = w.station.vehicle_panel.cards
    w.until(lambda: "following" in w.station.vehicle_panel.cards["rov1"].state.text(), "the card")
    assert "x +" in cards["rov1"].where.text() or "x -" in cards["rov1"].where.text()


def test_a_click_becomes_a_waypoint_and_a_reference(w: World) -> None:
    station = w.station
    station.view.fit()
    w.turn()
    QtTest.QTest.mouseClick(station.view.adding, LEFT)
    station.view.click_depth.setValue(6.0)
    box = station.view.above.getPlotItem().getViewBox()
    place = station.view.above.mapFromScene(box.mapViewToScene(QtCore.QPointF(1.0, 1.5)))  # east, north
    QtTest.QTest.mouseClick(station.view.above.viewport(), LEFT, pos=place)
    assert len(station.waypoints.marks) == 1
    assert np.allclose(station.waypoints.marks[0].position_m, (1.5, 1.0, 6.0), atol=0.05)
    QtTest.QTest.mouseClick(station.view.adding, LEFT)
    w.tab("Waypoints")
    QtTest.QTest.mouseClick(station.waypoint_panel.go_button, LEFT)
    w.until(lambda: w.waypoints and len(w.waypoints[-1].poses) == 1, "guidance's queue")
    queued = convert.from_pose(w.waypoints[-1].poses[0].pose)[0]
    assert np.allclose(queued, station.waypoints.marks[0].position_m, atol=1e-6)
    w.until(lambda: w.model.mode == "waypoints" and np.linalg.norm(w.setpoint() - [0, 0, 5]) > 0.2, "the reference")


def test_typed_numbers_arrive_exactly_with_their_speed(w: World) -> None:
    panel = w.station.waypoint_panel
    w.station.waypoints.clear()
    w.tab("Waypoints")
    for name, value in (("x", 2.25), ("y", -0.75), ("z", 5.5), ("speed", 0.2)):
        panel.fields[name].setValue(value)
    QtTest.QTest.mouseClick(panel.add_button, LEFT)
    panel.table.item(0, 1).setText("-1.25")  # as typed into the table
    QtTest.QTest.keyClick(w.station, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    target = np.array([2.25, -1.25, 5.5])
    w.until(
        lambda: w.waypoints and len(w.waypoints[-1].poses) == 1
        and np.allclose(convert.from_pose(w.waypoints[-1].poses[0].pose)[0], target, atol=1e-9), "the typed waypoint"
    )  # fmt: skip
    before = float(np.linalg.norm(w.setpoint() - target))
    w.until(lambda: np.linalg.norm(w.setpoint() - target) < before - 0.15, "the reference on its way")
    w.until(lambda: len(w.model.queue_m) == 1, "the window to know the queue")


def test_two_ports_are_brought_together_and_let_go_from_the_window(w: World) -> None:
    """Bow to bow, as they look at each other; real controllers answer, and the window's order has reached both."""
    w.tab("Join")
    panel, structures = w.station.join_panel, w.model.structures
    w.until(lambda: panel.leader.count() == 2, "the ports of the fleet file")
    panel.leader_port.setCurrentText("bow")
    QtTest.QTest.mouseClick(panel.dock, LEFT)

    def phase() -> str:
        told = structures.feedback()
        return "" if told is None else told.phase

    w.until(lambda: phase() not in ("", "idle", "accepted"), "the follower on its way")
    assert structures.order is not None and structures.order.counter > 0
    assert structures.docking["rov1"].phase == "leads" and w.station.view._structures.line.getData()[0] is not None
    w.until(panel.abort.isEnabled, "the button")
    QtTest.QTest.mouseClick(panel.abort, LEFT)
    w.until(lambda: structures.docking["rov2"].reason == "cancelled", "the abort")
    panel.order("cancel")
    w.until(lambda: {t.phase for t in structures.docking.values()} == {"idle"}, "both let go")


def test_modes_follow_the_buttons_and_the_keyboard(w: World) -> None:
    w.mode("hold")
    QtTest.QTest.keyClick(w.station, Qt.Key.Key_F4)
    w.until(lambda: w.model.mode == "waypoints", "F4")
    w.until(lambda: w.station.bar.modes["waypoints"].isChecked(), "the button")
    w.tab("Tests")
    w.station.test_panel.duration.setValue(2)
    QtTest.QTest.mouseClick(w.station.test_panel.start_button, LEFT)
    w.until(lambda: w.model.mode == "test", "the test")
    w.until(lambda: "circle" in w.station.test_panel.headline.text(), "the headline")
    w.mode("hold")


class Log:
    """A topic's messages with the time they were sent, however late this busy process reads them."""

    def __init__(self, b: Harness, topic: topics.Topic, **names: str) -> None:
        qos = QoSProfile(depth=5000, reliability=PROFILES[topic.qos].reliability)
        kind = endpoints.message_class(topic.type)
        self._waiting = b.node.create_subscription(
            kind, topic.of(**names), print, qos, callback_group=endpoints.Polled()
        )
        self.sent: list[tuple[int, Any]] = []  # ns of the system's clock, message

    def read(self) -> list[tuple[int, Any]]:
        self.sent += [(info["source_timestamp"], message) for message, info in endpoints.take_all(self._waiting)]
        return self.sent


def test_stop_zeroes_every_thruster_within_a_fifth_of_a_second(w: World) -> None:
    w.station.waypoints.clear()
    w.station.waypoints.add((-2.0, 2.0, 6.0))
    w.station.waypoint_panel.go()
    clock = Log(w.harness, topics.CLOCK)
    logs = {(v, t): Log(w.harness, topics.THRUST, vehicle=v, thruster=t) for v in VEHICLES for t in THRUSTERS}

    def loud(vehicle: str) -> bool:
        return any(log.read() and abs(log.sent[-1][1].data) > 0.3 for (v, _), log in logs.items() if v == vehicle)

    w.until(lambda: clock.read() and all(loud(v) for v in VEHICLES), "thrust")
    pressed_ns = time.time_ns()
    QtTest.QTest.mousePress(w.station.bar.stop_button, LEFT)
    w.pass_s(2.0)
    QtTest.QTest.mouseRelease(w.station.bar.stop_button, LEFT)
    ticks = [(ns, convert.from_stamp(message.clock)) for ns, message in clock.read()]

    def fleet_time(ns: int) -> float:
        return max(t_s for sent_ns, t_s in ticks if sent_ns <= ns)

    for name, log in logs.items():
        after = [(ns, message.data) for ns, message in log.read() if ns > pressed_ns]
        assert len(after) > 10, name
        running = [ns for ns, force in after if force]
        assert not running or fleet_time(running[-1]) - fleet_time(pressed_ns) <= 0.2 + 1e-6, name
        assert len(running) <= 4, name  # control periods in 0.2 s
    w.until(lambda: w.model.stopped and w.model.mode == "hold", "the window to know")
    w.until(lambda: w.station.bar.stop_button.text() == "STOPPED", "the button")
    w.until(lambda: w.model.stop.dissenting == (), "all holders to agree")
    states = [w.model.vehicles[v].status_line(time.monotonic())[1] for v in VEHICLES]
    assert all(s.startswith("zero thrust: stopped by") for s in states), states


def test_a_new_station_shows_release_at_once(w: World) -> None:
    """Nobody publishes STOP any more; the newcomer learns it from the fleet, and its Release is the real one."""
    assert w.model.stopped
    station, link = w.open_station()
    try:
        w.until(lambda: station.bar.release.isVisible(), "the new station's Release")
        assert station.model.stop.state == w.model.stop.state
        w.until(lambda: station.bar.stop_button.text() == "STOPPED", "the new station's button")
        QtTest.QTest.mouseClick(station.bar.release, LEFT)
        w.until(lambda: not w.model.stopped and not station.model.stopped, "the release in both stations")
        QtTest.QTest.mousePress(station.bar.stop_button, LEFT)
        w.until(lambda: w.model.stopped and station.model.stopped, "STOP in both stations")
    finally:
        station.close_down()
        station.close()
        link.close()
        w.station.activateWindow()  # keys go to the active window; there is no window manager here
    w.pass_s(0.5)
    assert w.model.stopped  # closing the station that pressed STOP releases nothing


def test_a_stop_outlives_every_node(w: World) -> None:
    """Controllers killed in turn come back stopped, and so does guidance."""
    assert w.model.stopped
    counter = w.model.stop.state.counter
    for name in ("/rov1/mpc", "/rov2/mpc", "/guidance"):
        w.kill(name)
        w.start(name)
        w.until(lambda n=name: "still stopped" in "\n".join(w.children[n].lines), f"{name} to remember")
    w.pass_s(1.0)
    assert w.model.stopped and w.model.stop.state.counter == counter


def test_the_current_reaches_the_plant(w: World) -> None:
    """Stopped vehicles drift with the water."""
    assert w.model.stopped
    w.tab("Water, link")
    panel = w.station.environment_panel
    where = {v: convert.odometry_from_message(w.truth[v][-1]).position_m for v in VEHICLES}
    panel.current[0].setValue(0.6)
    QtTest.QTest.mouseClick(panel.apply_button, LEFT)

    def drifted() -> bool:
        away = [convert.odometry_from_message(w.truth[v][-1]).position_m - where[v] for v in VEHICLES]
        return all(a[0] > 0.25 for a in away)

    w.until(drifted, "the vehicles to drift north")
    w.until(
        lambda: w.model.current_mps is not None and w.model.current_mps[0] == pytest.approx(0.6), "the window to know"
    )
    QtTest.QTest.mouseClick(panel.still_button, LEFT)
    w.until(lambda: not np.any(w.model.current_mps), "still water")
    w.mode("hold")
    QtTest.QTest.mouseClick(w.station.bar.release, LEFT)
    w.until(lambda: not w.model.stopped, "the release")
    w.until(lambda: w.model.stop.dissenting == (), "all holders to agree")


STATION = """
import sys
from shoal_rqt.qt import application, QtCore
from shoal_rqt.window import make_station
app = application()
station, link = make_station("two", int(sys.argv[1]))
station.show()

def look():
    if station.model.mode and len(station.model.nodes) > 4 and not timer.property("done"):
        timer.setProperty("done", True)
        if sys.argv[2] == "stop":
            station.bar.stop()
        print("ready", flush=True)

timer = QtCore.QTimer()
timer.timeout.connect(look)
timer.start(50)
app.exec()
"""


def crash_a_station(w: World, what: str, when: Callable[[], bool]) -> None:
    command = [sys.executable, "-c", STATION, str(w.harness.domain.number), what]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        w.until(when, f"a second station: {what}")
    finally:
        process.kill()
        process.wait(20)


def test_a_station_that_crashes_changes_nothing(w: World) -> None:
    w.station.waypoints.clear()
    w.station.waypoints.add((1.0, -2.0, 6.0))
    w.station.waypoint_panel.go()
    w.until(lambda: w.model.mode == "waypoints", "the fleet to swim")
    crash_a_station(w, "watch", lambda: True)
    w.pass_s(0.5)
    assert not w.model.stopped and w.model.mode == "waypoints"
    log = Log(w.harness, topics.THRUST, vehicle="rov1", thruster="thruster1")
    w.until(lambda: any(message.data for _, message in log.read()), "thrust")
    crash_a_station(w, "stop", lambda: w.model.stopped)
    log.sent.clear()
    w.pass_s(1.0)
    assert w.model.stopped and len(log.read()) > 5 and not any(message.data for _, message in log.sent[-5:])
    QtTest.QTest.mouseClick(w.station.bar.release, LEFT)
    w.until(lambda: not w.model.stopped and w.model.stop.dissenting == (), "the release")


def test_a_refusal_is_shown_with_the_nodes_reason(w: World) -> None:
    w.tab("Tune")
    panel = w.station.tuning_panel
    w.until(lambda: panel.item("limits.distance_soft_m") is not None, "the parameters")
    item = panel.item("limits.distance_soft_m")
    assert item is not None and item.text(2) == "m" and "100" in item.text(3)
    was = item.text(VALUE)
    panel.note.setText("")  # an earlier try may have left its refusal there
    item.setText(VALUE, "0.1")
    w.until(lambda: "refuses" in panel.note.text(), "the refusal")
    assert "distance_hard_m = 0.75" in panel.note.text() and item.text(VALUE) == was
    item.setText(VALUE, "1.9")
    w.until(lambda: w.model.limits.distance_soft_m == pytest.approx(1.9), "the new limit")
    item.setText(VALUE, "2")
    w.until(lambda: w.model.limits.distance_soft_m == pytest.approx(2.0), "the old limit")


def test_link_loss_goes_to_the_relay(w: World) -> None:
    w.tab("Water, link")
    panel = w.station.environment_panel
    panel.loss.setValue(30)
    QtTest.QTest.mouseClick(panel.link_button, LEFT)
    w.until(lambda: w.model.statuses.get("shoal: relay") is not None
            and w.model.statuses["shoal: relay"].values.get("loss") == "0.3", "the relay's report")  # fmt: skip
    panel.loss.setValue(0)
    QtTest.QTest.mouseClick(panel.link_button, LEFT)


def test_recording_makes_a_bag(w: World) -> None:
    w.tab("Record")
    panel = w.station.recording_panel
    panel.name.setText("from_the_window")
    QtTest.QTest.mouseClick(panel.button, LEFT)
    w.until(lambda: panel.recording and "recording for" in panel.state.text(), "the recording")
    w.pass_s(1.0)
    QtTest.QTest.mouseClick(panel.button, LEFT)
    w.until(lambda: "messages on" in panel.note.text(), "the end of the recording")
    assert panel.folder is not None and panel.folder.name == "from_the_window"
    assert (panel.folder / "metadata.yaml").is_file() and any(panel.folder.glob("*.mcap"))
    assert panel.report_button.isEnabled()


def test_it_keeps_no_garbage(w: World) -> None:
    """Between two stretches of running, the number of living objects stays."""
    w.tab("Vehicles")
    w.pass_s(1.0)
    gc.collect()
    before = len(gc.get_objects())
    w.pass_s(3.0)
    gc.collect()
    assert len(gc.get_objects()) - before < 2000


def follows_with_all(w: World, name: str) -> bool:
    """Steered by its controller, and nobody missed; it may still say that its numbers are not the file's."""
    state = w.model.vehicles[name]
    status, words = state.status, state.status_line(time.monotonic())[1]
    return status is not None and status.values.get("mode") == FOLLOWING and "lost contact" not in words


def test_nodes_may_go_and_come_back(w: World) -> None:
    w.tab("Vehicles")
    for name in ("/guidance", "/rov2/mpc"):
        w.kill(name)
    # STOP needs neither of them: the plant and the other controller hold it.
    QtTest.QTest.keyClick(w.station, Qt.Key.Key_Escape)
    w.until(lambda: w.model.stopped, "STOP without guidance and a controller")
    release = w.harness.publisher(topics.RELEASE)
    w.until(lambda: release.get_subscription_count() >= 2, "the holders")
    release.publish(UInt64(data=w.model.stop.state.counter))  # somebody else releases it
    w.until(lambda: not w.model.stopped, "the release")
    w.until(
        lambda: "lost contact" in w.model.vehicles["rov1"].status_line(time.monotonic())[1],
        "rov1 to miss the other",
    )
    for name in ("/guidance", "/rov2/mpc"):
        w.start(name)
    w.until(lambda: follows_with_all(w, "rov1"), "rov1 to follow and to miss nobody")
    w.mode("waypoints")
    w.mode("hold")
    w.kill("/dynamics", signal.SIGINT)
    w.until(lambda: all(v.is_lost(time.monotonic()) for v in w.model.vehicles.values()), "the vehicles to be lost")
    w.until(lambda: "LOST" in w.station.vehicle_panel.cards["rov1"].state.text(), "the card to say so")
    w.start("/dynamics")
    w.until(lambda: not any(v.is_lost(time.monotonic()) for v in w.model.vehicles.values()), "the vehicles to be back")


def test_the_report_opens(w: World) -> None:
    """After the dive: the fleet is gone, the recording is there."""
    for child in w.children.values():
        child.signal(signal.SIGINT)
    w.tab("Record")
    panel = w.station.recording_panel
    opened: list[QtCore.QUrl] = []
    panel.open_page = opened.append
    QtTest.QTest.mouseClick(panel.report_button, LEFT)
    w.until(lambda: opened or panel.note.objectName() == "bad", "the report", wall_s=120.0)
    assert opened and Path(opened[0].toLocalFile()).is_file(), panel.note.text()
