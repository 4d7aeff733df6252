"""The real window without ROS: a simulated fleet's state in, clicks and keys in, requests and pictures out."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("pyqtgraph")
pytest.importorskip("PySide6.QtTest")
from PySide6 import QtTest

from offline_station import LEFT, opened, requests, send, state
from shoal.errors import ShoalError
from shoal.fleet.stop import StopState
from shoal.guidance.path_file import load_path
from shoal.messages.health import Severity
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal_rqt import screenshots, updates
from shoal_rqt.qt import Qt, QtCore, QtWidgets, application
from shoal_rqt.requests import Description, ParameterInfo, Reply
from shoal_rqt.station import Station
from shoal_rqt.widgets.tuning_panel import VALUE

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.fixture
def station() -> Iterator[Station]:
    with opened() as made:
        yield made


# -- operating --------------------------------------------------------------------------------------------------


def test_stop_goes_out_with_the_press_and_wherever_the_focus_is(station: Station) -> None:
    QtTest.QTest.mousePress(station.bar.stop_button, LEFT)
    assert len(requests(station, "stop")) == 1  # before the button is let go
    QtTest.QTest.mouseRelease(station.bar.stop_button, LEFT)
    station.waypoint_panel.fields["x"].setFocus()
    QtTest.QTest.keyClick(station.waypoint_panel.fields["x"], Qt.Key.Key_Escape)
    assert len(requests(station, "stop")) == 2 and requests(station, "mode") == ["hold", "hold"]
    send(station, updates.StopUpdate("/rov1/mpc", StopState(5, True, "/fleet/stop")))
    assert station.bar.stop_button.text() == "STOPPED" and station.bar.release.isVisible()
    QtTest.QTest.mouseClick(station.bar.stop_button, LEFT)
    assert len(requests(station, "stop")) == 3 and requests(station, "release") == []  # a second press never releases
    QtTest.QTest.mouseClick(station.bar.release, LEFT)
    assert requests(station, "release") == [5]


def test_a_station_opened_on_a_stopped_fleet_shows_release_at_once(station: Station) -> None:
    assert not station.bar.release.isVisible()
    send(station, updates.StopUpdate("/rov1/mpc", StopState(7, True, "/fleet/stop")))
    assert station.bar.release.isVisible() and station.bar.note.text() == "STOP 7 by /fleet/stop"
    assert station.bar.note.objectName() == "bad" and station.bar.stop_button.property("stopped") == "true"
    send(station, updates.StopUpdate("/rov2/mpc", StopState(8, False, "/fleet/release")))
    assert station.bar.note.text() == "released, but still stopped: /rov1/mpc"
    assert station.bar.release.isVisible() and station.bar.stop_button.text() == "STOP"
    send(station, updates.StopUpdate("/rov1/mpc", StopState(8, False, "/fleet/release")))
    assert not station.bar.release.isVisible() and station.bar.note.text() == "2 vehicles"


def test_a_stop_that_nobody_confirmed_can_be_withdrawn(station: Station) -> None:
    send(station, updates.StopRequestUpdate(True))
    assert station.bar.release.isVisible() and "not confirmed" in station.bar.note.text()
    QtTest.QTest.mouseClick(station.bar.release, LEFT)
    assert requests(station, "withdraw_stop") == [None] and requests(station, "release") == []


def test_nothing_starts_while_the_fleet_is_stopped(station: Station) -> None:
    station.waypoints.add((1.0, 1.0, 5.0))
    send(station, updates.StopUpdate("/rov1/mpc", StopState(1, True, "/fleet/stop")))
    station.waypoint_panel.go()
    assert "release STOP first" in station.waypoint_panel.note.text() and station.waypoints.unsent
    station.test_panel.start()
    assert "release STOP first" in station.test_panel.note.text()
    for mode in ("waypoints", "test"):
        QtTest.QTest.mouseClick(station.bar.modes[mode], LEFT)
        send(station)
        assert "release STOP first" in station.events.last.text()
        station.model.events.clear()
    assert requests(station, "waypoints") == requests(station, "set_parameters") == requests(station, "mode") == []
    QtTest.QTest.mouseClick(station.bar.modes["hold"], LEFT)
    assert requests(station, "mode") == ["hold"]
    send(station, updates.StopUpdate("/rov1/mpc", StopState(2, False, "/fleet/release")))
    station.waypoint_panel.go()
    assert len(requests(station, "waypoints")) == 1


@pytest.mark.parametrize("thrusters", [0, 1, 6, 12])
def test_a_card_shows_any_number_of_thrusters(station: Station, thrusters: int) -> None:
    send(
        station,
        updates.OdometryUpdate("boat", state(2.0, 2.0, 0.0)),
        updates.ThrustUpdate("boat", np.linspace(-3.0, 5.0, thrusters)),
    )
    bars = station.vehicle_panel.cards["boat"].thrust
    assert not bars.grab().isNull()
    assert bars.toolTip().startswith(f"Thrust 1…{thrusters}: -3.0" if thrusters else "No thruster")


def test_nothing_stands_between_the_operator_and_stop(station: Station) -> None:
    """Neither the list of keys nor a file dialog takes Esc or the mouse away from the window."""
    QtTest.QTest.keyClick(station, Qt.Key.Key_F1)
    assert station.keys.isVisible()
    station.waypoint_panel.save_dialog()
    QtTest.QTest.mouseClick(station.bar.stop_button, LEFT)
    assert len(requests(station, "stop")) == 1
    QtTest.QTest.keyClick(station, Qt.Key.Key_Escape)
    assert not station.keys.isVisible() and len(requests(station, "stop")) == 1  # the first closes the list
    QtTest.QTest.keyClick(station, Qt.Key.Key_Escape)
    assert len(requests(station, "stop")) == 2
    for dialog in station.findChildren(QtWidgets.QFileDialog):
        assert not dialog.isModal()
        dialog.close()


def test_esc_is_stop_in_a_foreign_window_before_any_click(station: Station) -> None:
    """As in rqt: the window has the focus, nothing of ours has."""
    window = QtWidgets.QMainWindow()
    window.setCentralWidget(station)
    window.show()
    window.setFocus()
    before = len(requests(station, "stop"))
    QtTest.QTest.keyClick(window, Qt.Key.Key_Escape)
    assert len(requests(station, "stop")) == before + 1
    station.show_keys()
    QtTest.QTest.keyClick(window, Qt.Key.Key_Escape)
    assert len(requests(station, "stop")) == before + 1 and not station.keys.isVisible()
    window.takeCentralWidget()


def test_the_views_follow_the_fleet_and_point_to_what_they_do_not_show(station: Station) -> None:
    assert station.view.following.isChecked()  # by default

    def move(north: float, depth: float) -> None:
        for name, east in (("rov1", -1.1), ("rov2", 1.1)):
            o = state(north, east, 90.0)
            place = np.array([north, east, depth])
            moved = Odometry.of_parts(1.0, place, o.attitude, np.zeros(3), np.zeros(3))
            send(station, updates.OdometryUpdate(name, moved))

    move(80.0, 40.0)
    (_, _), (south, north) = station.view.above.viewRange()
    shallow, deep = station.view.side.viewRange()[1]
    assert south < 80.0 < north and shallow < 40.0 < deep and station.view.off_screen.text == ""
    station.view.following.setChecked(False)
    move(-80.0, 40.0)
    assert "↓ rov1 160 m" in station.view.off_screen.text and "rov2" in station.view.off_screen.text


def test_test_phase_and_setpoint_are_in_the_bar_whatever_the_tab(station: Station) -> None:
    preview = Preview(np.arange(3.0), np.tile([1.25, -2.0, 6.5], (3, 1)), np.zeros((3, 3)))
    status = {"state": "running", "test": "circle", "t_s": 31.2, "duration_s": 130.0}
    for index in range(station.tabs.count()):
        station.tabs.setCurrentIndex(index)
        send(station, updates.ReferenceUpdate(preview), updates.TestUpdate(status))
        assert station.bar.note.text().endswith("circle, running: 31 of 130 s")  # behind what a slow machine lost
        assert station.bar.setpoint.text() == "setpoint N 1.2  E -2.0  depth 6.5 m"
    send(station, updates.TestUpdate(status | {"state": "waiting", "countdown_s": 3.2}))
    assert station.bar.note.text().endswith("circle, getting ready: starts in 3 s")


def test_a_test_stays_in_the_bar_behind_what_matters_more(station: Station) -> None:
    send(station, updates.TestUpdate({"state": "running", "test": "circle", "t_s": 31.2, "duration_s": 130.0}))
    vehicle = station.model.vehicles["rov2"]
    assert vehicle.received_s is not None
    vehicle.received_s -= 60.0
    send(station)
    assert re.fullmatch(r"lost: .*rov2  ·  circle, running: 31 of 130 s", station.bar.note.text())
    send(station, updates.StopUpdate("/rov1/mpc", StopState(5, True, "/fleet/stop")))
    assert station.bar.note.text() == "STOP 5 by /fleet/stop  ·  circle, running: 31 of 130 s"


def test_the_whole_path_of_a_test_is_drawn_and_goes_with_it(station: Station) -> None:
    status = {"state": "gliding", "test": "circle"}
    send(station, updates.TestUpdate(status))
    east, north = station.view._fleet.path.getData()
    path = load_path("circle")
    t_s = np.linspace(0.0, path.duration_s, len(east))
    assert len(east) > 100 and np.allclose(np.column_stack([north, east]), path.position(t_s)[:, :2])
    send(station, updates.TestUpdate(status | {"test": "/on/another/computer.yaml"}))
    assert np.size(station.view._fleet.path.getData()[0]) == 0  # what cannot be read is not drawn
    send(station, updates.TestUpdate(status), updates.TestUpdate({"state": "idle", "test": "circle"}))
    assert np.size(station.view._fleet.path.getData()[0]) == 0


def test_sight_and_distance_are_plotted_over_time_with_their_limits(station: Station) -> None:
    panel = station.plot_panel
    station.tabs.setCurrentWidget(panel)
    for step in range(5):
        odometry = replace(state(0.0, -1.1 - 0.1 * step, 90.0), stamp_s=float(step))
        send(station, updates.ClockUpdate(float(step)), updates.OdometryUpdate("rov1", odometry),
             updates.OdometryUpdate("rov2", state(0.0, 1.1, -60.0)))  # fmt: skip
    angle, distance = panel.curves["rov2"]
    times_s, degrees = angle.getData()
    assert times_s.tolist() == [-4.0, -3.0, -2.0, -1.0, 0.0] and degrees == pytest.approx(30.0, abs=0.1)
    assert distance.getData()[1] == pytest.approx([2.2, 2.3, 2.4, 2.5, 2.6])
    limits = station.model.limits
    assert [line.value() for line in panel.limits[0]] == [limits.sight_soft_deg, limits.sight_hard_deg]
    send(station, updates.ClockUpdate(0.5))  # a reset: what was before is of another run
    assert len(angle.getData()[0]) <= 1


def test_an_alarm_beeps_once_and_can_be_muted(station: Station, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    monkeypatch.setattr(station, "beep", lambda: heard.append(1))
    send(station, updates.EventUpdate(1, "a warning"))
    assert heard == []
    send(station, updates.EventUpdate(2, "a fault"), updates.EventUpdate(2, "another"))
    send(station)
    assert heard == [1]
    QtTest.QTest.keyClick(station, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    assert station.muted
    station._beeped_s = float("-inf")
    send(station, updates.EventUpdate(2, "a third fault"))
    assert heard == [1] and any("alarm sound off" in event.text for event in station.model.events)


def test_a_picture_with_a_lost_vehicle_is_refused(station: Station) -> None:
    screenshots._refuse_lost("two_light", station.model)
    vehicle = station.model.vehicles["rov2"]
    assert vehicle.received_s is not None
    vehicle.received_s -= 60.0
    with pytest.raises(ShoalError, match=r"gui_two_light.png: rov2 lost"):
        screenshots._refuse_lost("two_light", station.model)
    screenshots._refuse_lost("lost_dark", station.model)  # meant to show one


def test_buttons_show_the_mode_that_guidance_reports(station: Station) -> None:
    QtTest.QTest.mouseClick(station.bar.modes["waypoints"], LEFT)
    assert requests(station, "mode") == ["waypoints"] and station.bar.modes["hold"].isChecked()
    send(station, updates.ModeUpdate("waypoints"))
    station.bar.refresh(time.monotonic())
    assert station.bar.modes["waypoints"].isChecked() and not station.bar.modes["hold"].isChecked()
    assert not station.bar.modes["manual"].isEnabled()  # nobody moves a stick


def test_a_waypoint_is_clicked_dragged_and_typed(station: Station) -> None:
    view = station.view
    box = view.above.getPlotItem().getViewBox()

    def pixel(east: float, north: float) -> QtCore.QPoint:
        return view.above.mapFromScene(box.mapViewToScene(QtCore.QPointF(east, north)))

    QtTest.QTest.mouseClick(view.above.viewport(), LEFT, pos=pixel(1.0, 1.0))
    assert station.waypoints.marks == ()  # not switched on
    view.adding.setChecked(True)
    QtTest.QTest.mouseClick(view.above.viewport(), LEFT, pos=pixel(1.0, 1.0))
    assert np.allclose(station.waypoints.marks[0].position_m, (1.0, 1.0, 5.0), atol=0.05)
    view.adding.setChecked(False)
    viewport = view.above.viewport()
    QtTest.QTest.mousePress(viewport, LEFT, pos=pixel(*reversed(station.waypoints.marks[0].position_m[:2])))
    for share in np.linspace(0.1, 1.0, 6):
        QtTest.QTest.mouseMove(viewport, pixel(1.0 - 2.0 * share, 1.0 + 0.5 * share), delay=20)
        application().processEvents()
    QtTest.QTest.mouseRelease(viewport, LEFT, pos=pixel(-1.0, 1.5))
    assert np.allclose(station.waypoints.marks[0].position_m, (1.5, -1.0, 5.0), atol=0.1)
    table = station.waypoint_panel.table
    table.item(0, 2).setText("7,5")
    table.item(0, 3).setText("0.15")
    assert station.waypoints.marks[0].position_m[2] == 7.5 and station.waypoints.marks[0].speed_mps == 0.15
    table.item(0, 3).setText("fast")
    assert "expected a number" in station.waypoint_panel.note.text() and table.item(0, 3).text() == "0.15"


def test_a_click_in_the_profile_gives_the_depth(station: Station) -> None:
    station.view.adding.setChecked(True)
    box = station.view.side.getPlotItem().getViewBox()
    pixel = station.view.side.mapFromScene(box.mapViewToScene(QtCore.QPointF(0.5, 3.0)))
    QtTest.QTest.mouseClick(station.view.side.viewport(), LEFT, pos=pixel)
    assert np.allclose(station.waypoints.marks[0].position_m[1:], (0.5, 3.0), atol=0.1)


def test_tests_are_asked_for_in_order(station: Station) -> None:
    panel = station.test_panel
    for row in range(panel.tests.count()):
        wanted = panel.tests.item(row).text() in ("line", "torus")
        panel.tests.item(row).setCheckState(Qt.CheckState.Checked if wanted else Qt.CheckState.Unchecked)
    panel.repeat.setValue(3)
    QtTest.QTest.keyClick(station, Qt.Key.Key_F5)
    node, values = requests(station, "set_parameters")[0]
    assert node == "/guidance" and values == {"test": "line,torus", "repeat": 3, "test_duration_s": 0.0}
    panel._begin(Reply(True, ""))
    assert requests(station, "call") == ["/guidance/start_test"]
    panel._begin(Reply(False, "test = 'x': unknown"))
    assert panel.note.text() == "test = 'x': unknown" and panel.note.objectName() == "bad"


def test_the_countdown_is_shown(station: Station) -> None:
    station.tabs.setCurrentWidget(station.test_panel)
    status = {"state": "waiting", "test": "circle", "countdown_s": 3.2, "sequence": ["line", "circle"], "index": 1,
              "round": 2, "rounds": 3, "waiting_for": []}  # fmt: skip
    send(station, updates.TestUpdate(status))
    assert station.test_panel.headline.text() == "circle, 2 of 2, round 2 of 3: getting ready"
    assert station.test_panel.bar.format() == "starts in 3.2 s"
    send(station, updates.TestUpdate(status | {"countdown_s": None, "waiting_for": ["rov2 is 3.1 m from its place"]}))
    assert station.test_panel.note.text() == "rov2 is 3.1 m from its place"


def test_violated_limits_are_marked_in_words_and_colour(station: Station) -> None:
    send(station, updates.OdometryUpdate("rov2", state(0.0, -0.5, 20.0)))
    card = station.vehicle_panel.cards["rov2"]
    assert "LIMIT VIOLATED" in card.state.text() and card.property("alarm") == "true"
    assert "TOO CLOSE" in card.rows[0].accessibleName() and "out of sight" in card.rows[0].accessibleName()
    assert card.rows[0].angle._severity is Severity.ERROR
    send(station, updates.OdometryUpdate("rov2", state(0.0, 1.1, -90.0)))
    assert card.property("alarm") == "false"


def test_tuning_shows_what_the_node_reports(station: Station, tmp_path: Path) -> None:
    panel = station.tuning_panel
    station.tabs.setCurrentWidget(panel)
    assert panel.target.currentText() == "all controllers" and requests(station, "describe")[-1] == "/rov1/mpc"
    parameters = (
        ParameterInfo("limits.distance_soft_m", 2.0, "", 0.0, 100.0),
        ParameterInfo("fleet", "two", read_only=True),
        ParameterInfo("ring.form", "off"),
        ParameterInfo("max_qp_iterations", 25),
    )
    panel.show_parameters(Description("/rov1/mpc", parameters))
    item = panel.item("limits.distance_soft_m")
    assert item is not None and [item.text(i) for i in range(4)] == ["distance_soft_m", "2", "m", "0 … 100"]
    item.setText(VALUE, "0.5")
    sent = requests(station, "set_parameters")
    assert sent == [(f"/{v}/mpc", {"limits.distance_soft_m": 0.5}) for v in ("rov1", "rov2")]
    panel._answered("/rov2/mpc", "limits.distance_soft_m", 0.5, Reply(False, "expected ≥"))
    assert panel.note.text() == "/rov2/mpc refuses: expected ≥" and item.text(VALUE) == "2"
    count = panel.item("max_qp_iterations")
    assert count is not None
    count.setText(VALUE, "many")
    assert "expected a value of type int" in panel.note.text()
    panel.save(tmp_path / "p.yaml")
    saved = yaml.safe_load((tmp_path / "p.yaml").read_text())["/**/mpc"]["ros__parameters"]
    assert saved == {"limits": {"distance_soft_m": 2.0}, "ring": {"form": "off"}, "max_qp_iterations": 25}
