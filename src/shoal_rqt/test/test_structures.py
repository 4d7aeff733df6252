"""Joined, docking, part of a platform: what comes in, what the window draws of it, and what it orders."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("pyqtgraph")
pytest.importorskip("PySide6.QtTest")
from PySide6 import QtTest

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.fleet.stop import StopState
from shoal.messages.docking import DockingFeedback, DockingOrder
from shoal.messages.joining import DrawnJoint, Joining
from shoal.messages.odometry import Odometry
from shoal.platform.blueprint import load_blueprint
from shoal.platform.orders import ordered_blueprint
from shoal_rqt import updates
from shoal_rqt.model import FleetModel
from shoal_rqt.platform_status import PlatformStatus, platform_from_json
from shoal_rqt.qt import Qt, application
from shoal_rqt.requests import NoLink
from shoal_rqt.station import Station
from shoal_rqt.structures import docking_sentence
from shoal_rqt.update_queue import UpdateQueue
from shoal_rqt.widgets import shapes

LEFT = Qt.MouseButton.LeftButton
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


def state(north: float, east: float, heading_deg: float = 0.0, depth: float = 5.0) -> Odometry:
    half = np.radians(heading_deg) / 2
    place, turn = np.array([north, east, depth]), np.array([np.cos(half), 0, 0, np.sin(half)])
    return Odometry.of_parts(1.0, place, turn, np.zeros(3), np.zeros(3))


def make(fleet: str) -> Station:
    application()
    made = Station(FleetModel(load_fleet(fleet)), UpdateQueue(), NoLink())
    made.resize(1280, 800)
    made.show()
    return made


def send(station: Station, *items: updates.Update) -> None:
    for item in items:
        station.update_queue.put(item)
    station.process_updates()
    station.draw(time.monotonic())
    station.show_numbers(time.monotonic())
    application().processEvents()


def requests(station: Station, what: str) -> list[Any]:
    assert isinstance(station.link, NoLink)
    return [value for kind, value in station.link.requests if kind == what]


@pytest.fixture
def station() -> Iterator[Station]:
    """Two in line, the second one behind the first one's stern."""
    made = make("two")
    send(made, updates.OdometryUpdate("rov1", state(0.0, 0.0)), updates.OdometryUpdate("rov2", state(-2.0, 0.0)))
    made.tabs.setCurrentWidget(made.join_panel)
    send(made)
    yield made
    made.close_down()
    made.close()


def feedback(counter: int, phase: str, **more: Any) -> DockingFeedback:
    numbers = {"gap_m": 1.4, "lateral_m": 0.02, "angle_deg": 1.0, "bearing_deg": 4.0, "tries": 1, "reason": ""}
    return DockingFeedback(counter, phase, **numbers | more)


def events(station: Station) -> list[str]:
    return [event.text for event in station.model.events]


# -- docking ----------------------------------------------------------------------------------------------------


def test_two_ports_are_chosen_docked_and_aborted(station: Station) -> None:
    panel = station.join_panel
    assert (panel.leader.currentText(), panel.leader_port.currentText()) == ("rov1", "stern")
    assert (panel.follower.currentText(), panel.follower_port.currentText()) == ("rov2", "bow")
    assert [panel.leader_port.itemText(i) for i in range(4)] == ["bow", "stern", "port", "starboard"]
    QtTest.QTest.mouseClick(panel.dock, LEFT)
    order = DockingOrder(0, "dock", "rov1", "stern", "rov2", "bow")
    assert requests(station, "docking") == [order] and not panel.abort.isEnabled()
    counted = replace(order, counter=7)
    send(station, updates.DockingOrderUpdate(counted), updates.DockingUpdate("rov1", feedback(7, "leads")),
         updates.DockingUpdate("rov2", feedback(7, "accepted")))  # fmt: skip
    send(station, updates.DockingUpdate("rov2", feedback(7, "close", gap_m=0.42)))
    assert panel.phase.text() == "rov2 at rov1: docking: close, gap 0.42 m, 20 mm aside, 1.0°, bearing 4°, try 1"
    assert "rov2 docking: close" in events(station) and panel.abort.isEnabled()
    panel.follower.setCurrentText("rov1")  # whatever is chosen meanwhile
    QtTest.QTest.mouseClick(panel.abort, LEFT)
    assert requests(station, "docking")[-1] == replace(order, action="cancel")
    send(station, updates.DockingUpdate("rov2", feedback(8, "failed", reason="cancelled")))
    assert "rov2 docking: failed: cancelled" in events(station) and not panel.abort.isEnabled()
    assert panel.phase.text() == "rov2 at rov1: docking: failed (cancelled)"


def test_what_cannot_be_docked_is_refused_here_and_a_refusal_of_the_vehicle_is_shown(station: Station) -> None:
    panel = station.join_panel
    panel.follower.setCurrentText("rov1")
    panel.order("dock")
    assert panel.problem.text() == "'rov1' with itself; expected two vehicles"
    panel.follower.setCurrentText("rov2")
    shape = station.model.vehicles["rov2"].shape
    assert shape is not None
    plugs = tuple(replace(p, kind="plug") for p in shape.ports)
    station.model.vehicles["rov2"].shape = replace(shape, ports=plugs)
    panel.order("dock")
    assert "androgynous" in panel.problem.text() and panel.problem.objectName() == "bad"
    station.model.vehicles["rov2"].shape = shape
    send(station, updates.StopUpdate("/rov1/mpc", StopState(1, True, "/fleet/stop")))
    panel.order("dock")
    assert "release STOP first" in panel.problem.text() and requests(station, "docking") == []
    send(station, updates.DockingOrderUpdate(DockingOrder(3, "dock", "rov1", "keel", "rov2", "bow")),
         updates.DockingUpdate("rov2", feedback(3, "idle", refused="rov1 has no port 'keel'")))  # fmt: skip
    assert panel.problem.text() == "refused: rov1 has no port 'keel'"
    assert "rov2 refuses: rov1 has no port 'keel'" in events(station)


def test_an_abort_is_not_held_back_by_stop(station: Station) -> None:
    send(station, updates.DockingOrderUpdate(DockingOrder(3, "dock", "rov1", "stern", "rov2", "bow")),
         updates.DockingUpdate("rov2", feedback(3, "close")),
         updates.StopUpdate("/rov1/mpc", StopState(1, True, "/fleet/stop")))  # fmt: skip
    station.join_panel.order("cancel")
    assert [o.action for o in requests(station, "docking")] == ["cancel"]


def test_cones_and_funnel_are_drawn_where_the_ports_are(station: Station) -> None:
    layer = station.view._structures
    assert layer.cones.path().isEmpty() and layer.funnel.path().isEmpty()
    order = DockingOrder(3, "dock", "rov1", "stern", "rov2", "bow")
    send(station, updates.DockingOrderUpdate(order), updates.DockingUpdate("rov2", feedback(3, "close")))
    east, north = layer.line.getData()
    assert np.allclose(east, 0.0) and np.allclose(north, [-0.3, -1.7])  # from port to port
    funnel = layer.funnel.path().boundingRect()  # 4 cm at the port and 10 % of the gap of 1.4 m
    assert (funnel.left(), funnel.right()) == pytest.approx((-0.18, 0.18))
    assert (funnel.top(), funnel.bottom()) == pytest.approx((-1.7, -0.3))
    cones = layer.cones.path().boundingRect()
    assert cones.top() < -2.6 and cones.bottom() > 0.5  # rov1's looks astern, rov2's ahead
    calm = layer.funnel.pen().style()
    send(station, updates.DockingUpdate("rov2", feedback(3, "close", lateral_m=0.5)))
    assert layer.funnel.pen().style() != calm  # outside of it, and not by the colour alone
    assert "close" in layer.text.toPlainText() and "500 mm aside" in layer.text.toPlainText()
    send(station, updates.DockingUpdate("rov2", feedback(3, "latched")))
    assert layer.cones.path().isEmpty() and not layer.text.isVisible()


def test_words_of_a_docking_leave_numbers_out_that_mean_nothing() -> None:
    assert docking_sentence(feedback(1, "idle")) == "docking: idle"
    assert docking_sentence(feedback(1, "failed", reason="stopped")) == "docking: failed (stopped)"


# -- assemblies -------------------------------------------------------------------------------------------------


def test_joints_are_drawn_listed_and_reported(station: Station) -> None:
    joint = DrawnJoint("rov1", "rov2", np.array([-0.3, 0.0, 0.0]), np.array([0.3, 0.0, 0.0]), LEVEL)
    send(station, updates.OdometryUpdate("rov2", state(-0.6, 0.0)), updates.AssemblyUpdate(Joining(2, (joint,))))
    _, north = station.view._structures.joints.getData()
    assert north == pytest.approx([0.0, -0.3, -0.3, -0.6])
    assert station.join_panel.groups.text() == "rov1 + rov2: one body\n  rov1 – rov2"
    station.tabs.setCurrentWidget(station.vehicle_panel)
    send(station)
    assert station.vehicle_panel.cards["rov2"].part.text() == "joined to rov1"
    send(station, updates.AssemblyUpdate(Joining(3)))
    assert [e for e in events(station) if "rov1 and rov2" in e] == [
        "rov1 and rov2 are joined",
        "rov1 and rov2 are parted",
    ]
    assert (
        not station.vehicle_panel.cards["rov2"].part.isVisible()
        and len(station.view._structures.joints.getData()[0]) == 0
    )


def test_groups_of_a_chain_and_of_two_pairs() -> None:
    model = FleetModel()

    def joined(*pairs: tuple[str, str]) -> tuple[tuple[str, ...], ...]:
        joints = tuple(DrawnJoint(a, b, np.zeros(3), np.zeros(3), LEVEL) for a, b in pairs)
        model.apply(updates.AssemblyUpdate(Joining(1, joints)), 0.0)
        return model.structures.groups

    assert joined(("a", "b"), ("c", "d")) == (("a", "b"), ("c", "d"))
    assert joined(("a", "b"), ("c", "d"), ("d", "b")) == (("a", "b", "c", "d"),)
    assert joined(("a", "b"), ("b", "c"), ("c", "a")) == (("a", "b", "c"),)
    assert model.structures.mates_of("b") == ("a", "c") and joined() == ()


def test_an_assembly_of_the_fleet_file_is_drawn_module_by_module_in_its_true_size() -> None:
    station = make("square")
    (name,) = station.model.vehicles
    send(station, updates.OdometryUpdate(name, state(3.0, 1.0, 90.0)))
    layer, shape = station.view._vehicles[name], station.model.vehicles[name].shape
    assert shape is not None and len(shape.modules) == 4 and len(shape.joints_m) == 4
    assert layer.modules.isVisible() and not layer.hull.isVisible() and not layer.side_hull.isVisible()
    corners = np.vstack([m.corners_m for m in shape.modules])  # turned by 90°: forward is east
    drawn = layer.modules.path().boundingRect()
    assert (drawn.left(), drawn.right()) == pytest.approx(
        (1.0 + corners[:, 0].min(), 1.0 + corners[:, 0].max()), abs=0.3
    )
    assert (drawn.top(), drawn.bottom()) == pytest.approx((3.0 + corners[:, 1].min(), 3.0 + corners[:, 1].max()))
    assert len(station.view._structures.joints.getData()[0]) == 4 * 4  # a cross at each of the four joints
    station.tabs.setCurrentWidget(station.join_panel)
    send(station)
    assert station.join_panel.groups.text() == "square: assembly of 4 hulls"
    station.close_down()
    station.close()


def test_the_silhouette_of_a_turned_box() -> None:
    box = np.array([[0, 0], [2, 0], [2, 1], [0, 1], [1, 0.5], [1, 0], [2, 1]], dtype=float)
    found = shapes.silhouette(box)
    assert {tuple(p) for p in found} == {(0, 0), (2, 0), (2, 1), (0, 1)} and len(found) == 4


# -- platforms --------------------------------------------------------------------------------------------------


def platform(**more: Any) -> PlatformStatus:
    told = {
        "phases": {"vessel1": "member", "vessel2": "member", "vessel3": "approach"},
        "cells": {"vessel1": [0, 0], "vessel2": [0, 1]}, "wanted": [[0, 0], [0, 1], [0, 2]],
        "owners": {v: {"owner": "vessel1", "assembly": 2, "term": 0} for v in ("vessel1", "vessel2")},
        "owned": True, "complete": False, "stage": "build", "over": False, "stopped": False, "stamp_s": 3.0,
    }  # fmt: skip
    return platform_from_json(json.dumps(told | more))


def test_a_platform_shows_phases_owners_and_the_cells_that_are_free() -> None:
    station = make("vessels3")
    station.tabs.setCurrentWidget(station.join_panel)
    places = {"vessel1": (0.0, 0.0), "vessel2": (0.0, 0.2), "vessel3": (1.0, 1.0)}
    send(station, *(updates.OdometryUpdate(v, state(*at, depth=0.0)) for v, at in places.items()))
    send(station, updates.PlatformUpdate(platform()))
    free = station.view._structures.cells.path().boundingRect()
    assert (free.left(), free.right()) == pytest.approx((0.3, 0.5))  # of 20 cm width, starboard of vessel2
    assert (free.top(), free.bottom()) == pytest.approx((-0.19, 0.19))
    panel = station.join_panel.platform
    assert panel.state.text() == "2 of 3 joined, build; vessel3 approach"
    assert not panel.part.isEnabled() and not panel.reshape.isEnabled()
    panel.send("part")
    assert "not done yet" in panel.problem.text() and requests(station, "platform") == []
    station.tabs.setCurrentWidget(station.vehicle_panel)
    send(station)
    cards = station.vehicle_panel.cards
    assert cards["vessel2"].part.text() == "platform: member in cell 0, 1, flown by vessel1"
    assert cards["vessel3"].part.text() == "platform: approach"
    cells = {"vessel1": [0, 0], "vessel2": [0, 1], "vessel3": [0, 2]}
    done = {"phases": dict.fromkeys(cells, "member"), "cells": cells, "complete": True, "over": True}
    station.tabs.setCurrentWidget(station.join_panel)
    send(station, updates.PlatformUpdate(platform(**done)))
    assert station.view._structures.cells.path().isEmpty() and "the platform is complete" in events(station)
    offered = [panel.blueprints.itemText(i) for i in range(panel.blueprints.count())]
    assert offered and all(len(load_blueprint(name).cells) == 3 for name in offered)  # only those of as many cells
    assert "row3" in offered
    for name in offered:
        panel.blueprints.setCurrentText(name)
        assert len(panel.draft.cells) == 3 and not panel.draft.edited
    panel.blueprints.setCurrentText("row3")
    planned(station)
    QtTest.QTest.mouseClick(panel.reshape, LEFT)
    QtTest.QTest.mouseClick(panel.part, LEFT)
    assert requests(station, "platform") == ["row3", "part"]
    send(station, updates.StopUpdate("/vessel1/mpc", StopState(1, True, "/fleet/stop")))
    panel.send("part")
    assert "release STOP first" in panel.problem.text() and len(requests(station, "platform")) == 2
    station.close_down()
    station.close()


def planned(station: Station) -> str:
    """The planner's sentence on what is drawn now; it thinks in a thread of its own."""
    return station.join_panel.platform.wait_for_planner()


def click(station: Station, *cells: tuple[int, int]) -> None:
    grid = station.join_panel.platform.grid
    for cell in cells:
        QtTest.QTest.mouseClick(grid, LEFT, pos=grid.middle_of(cell))


def test_a_blueprint_is_drawn_judged_by_the_planner_saved_and_sent(tmp_path: Path) -> None:
    station = make("vessels3")
    station.tabs.setCurrentWidget(station.join_panel)
    panel = station.join_panel.platform
    QtTest.QTest.mouseClick(panel.clear, LEFT)
    assert planned(station) == "blueprint: no cell is drawn; expected at least one"
    click(station, (2, 3), (2, 5))
    assert "parts that do not touch" in planned(station) and panel.verdict.objectName() == "bad"
    click(station, (2, 4))
    assert planned(station) == "3 cells: built in 1 round (not saved)"
    ring = [(r, c) for r in (3, 4, 5) for c in (3, 4, 5)]
    click(station, *ring)
    assert "12 cells: built in" in planned(station)
    click(station, *ring, (2, 5), (3, 3))  # an L of three
    assert sorted(panel.draft.cells) == [(2, 3), (2, 4), (3, 3)]
    assert not panel.reshape.isEnabled()  # there is no platform

    cells = {"vessel1": [0, 0], "vessel2": [0, 1], "vessel3": [0, 2]}
    done = {"phases": dict.fromkeys(cells, "member"), "cells": cells, "complete": True, "over": True}
    send(station, updates.PlatformUpdate(platform(**done)))
    assert planned(station) == "3 cells: reshaped in 1 move (not saved)" and panel.reshape.isEnabled()
    click(station, (4, 3))
    assert "has 4 cells, the platform 3 vessels" in planned(station) and not panel.reshape.isEnabled()
    QtTest.QTest.keyClick(panel.grid, Qt.Key.Key_Space)  # the cell that was clicked last
    panel.kinds.setCurrentText("delfia1_cargo")
    click(station, (3, 3))
    assert "1 of delfia1_cargo" in planned(station)  # the platform has no such vessel
    panel.kinds.setCurrentText("delfia1")
    click(station, (3, 3))
    planned(station)
    QtTest.QTest.mouseClick(panel.reshape, LEFT)
    (sent,) = requests(station, "platform")
    assert ordered_blueprint(sent).rows == ("#.", "##")  # as it is drawn: no other computer has its file

    panel.save(tmp_path / "Hook!.yaml")
    assert "name" in panel.problem.text() and not list(tmp_path.iterdir())
    panel.save(tmp_path / "hook.yaml")
    assert load_blueprint(tmp_path / "hook.yaml").cells == {(0, 0), (0, 1), (1, 0)}
    assert planned(station) == "3 cells: reshaped in 1 move"
    panel.begin_with("cargo_row3")
    panel.save(tmp_path / "mixed.yaml")
    assert load_blueprint(tmp_path / "mixed.yaml").type_of == load_blueprint("cargo_row3").type_of
    station.close_down()
    station.close()


def test_a_drag_paints_and_the_keys_do_without_a_mouse() -> None:
    station = make("vessels3")
    station.tabs.setCurrentWidget(station.join_panel)
    panel = station.join_panel.platform
    panel.draft.clear()
    QtTest.QTest.mousePress(panel.grid, LEFT, pos=panel.grid.middle_of((1, 1)))
    for column in (2, 3):
        QtTest.QTest.mouseMove(panel.grid, panel.grid.middle_of((1, column)))
    QtTest.QTest.mouseRelease(panel.grid, LEFT, pos=panel.grid.middle_of((1, 3)))
    assert sorted(panel.draft.cells) == [(1, 1), (1, 2), (1, 3)]
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Space):
        QtTest.QTest.keyClick(panel.grid, key)
    assert (2, 1) in panel.draft.cells
    QtTest.QTest.keyClick(panel.grid, Qt.Key.Key_Escape)
    assert len(requests(station, "stop")) == 1
    station.close_down()
    station.close()


def test_a_platform_message_that_makes_no_sense_is_told_in_a_sentence() -> None:
    with pytest.raises(ShoalError, match="/fleet/platform: phases"):
        platform_from_json('{"cells": {}}')
    with pytest.raises(ShoalError, match="no JSON object"):
        platform_from_json("[1]")


# -- what a back end gives -------------------------------------------------------------------------------------


def test_battery_leak_link_and_levels_are_on_the_card_where_they_are_known(station: Station) -> None:
    station.tabs.setCurrentWidget(station.vehicle_panel)
    card = station.vehicle_panel.cards.get("rov1")
    send(station)
    card = station.vehicle_panel.cards["rov1"]
    assert not card.back_end.isVisible() and not card.part.isVisible()  # the built-in plant has none of it
    values = {"voltage_V": "15.3", "connected": "True", "leak": "False"}
    send(station, updates.DiagnosticUpdate("shoal: rov1 autopilot", "rov1", 0, "armed", values),
         updates.LevelsUpdate("rov1", "depth_hold"))  # fmt: skip
    assert card.back_end.text() == "battery 15.3 V  ·  link up  ·  no leak  ·  armed"
    assert card.part.text() == "autonomy: depth_hold"
    assert station.vehicle_panel.cards["rov2"].back_end.text() == ""
    values = {"voltage_V": "nan", "connected": "False", "leak": "True"}
    send(station, updates.DiagnosticUpdate("shoal: rov1 autopilot", "rov1", 2, "no link to the autopilot", values))
    assert card.back_end.text() == "NO LINK  ·  LEAK  ·  no link to the autopilot"


def test_limits_of_free_vehicles_mean_nothing_between_those_who_are_to_touch(station: Station) -> None:
    """Neither for the alarm nor for a test's verdict; with the joint opened they count again."""
    send(station, updates.OdometryUpdate("rov2", state(-0.6, 0.0)))
    model, now = station.model, time.monotonic()
    model.sight_pairs = (("rov1", "rov2"),)  # rov2 is behind rov1
    assert model.neighbour("rov1", "rov2", now).violates_hard_limit
    send(station, updates.AssemblyUpdate(Joining(2, (), (("rov1", "rov2"),))))
    assert not model.neighbour("rov1", "rov2", now).violates_hard_limit
    send(station, updates.AssemblyUpdate(Joining(3)))
    order = DockingOrder(3, "dock", "rov1", "stern", "rov2", "bow")
    send(station, updates.DockingOrderUpdate(order), updates.DockingUpdate("rov2", feedback(3, "close")))
    assert not model.neighbour("rov2", "rov1", now).violates_hard_limit
    send(station, updates.DockingUpdate("rov2", feedback(3, "failed")))
    assert model.neighbour("rov2", "rov1", now).violates_hard_limit
