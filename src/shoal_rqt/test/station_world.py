"""A fleet of real processes, a station on it, and an observer that knows neither."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
pytest.importorskip("pyqtgraph")
from PySide6 import QtTest  # the tests' own mouse and keyboard

from shoal.messages import topics
from shoal_ros import convert
from shoal_ros.harness import Harness
from shoal_ros.node_list import NodeSpec, fleet_nodes
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import Qt, application
from shoal_rqt.ros_link import RosLink
from shoal_rqt.station import Station
from shoal_rqt.update_queue import UpdateQueue

VEHICLES = ("rov1", "rov2")
THRUSTERS = tuple(f"thruster{i}" for i in range(1, 9))
LEFT = Qt.MouseButton.LeftButton


class World:
    """A fleet of two, a station, and an observer that knows neither."""

    def __init__(self, b: Harness, folder: Path) -> None:
        self.harness, self.children = b, b.children
        self.app = application()
        self.specs = {s.full_name: s for s in fleet_nodes("two", use_relay=True, lockstep=True, display=False)}
        recording = {"folder": str(folder), "use_sim_time": True, "fleet": "two"}
        self.specs["/recorder"] = NodeSpec("shoal_recorder", "recorder", "recorder", parameters=recording)
        b.follow_clock()
        self.reference, self.waypoints = b.listen(topics.REFERENCE), b.listen(topics.WAYPOINTS)
        self.truth = {v: b.listen(topics.TRUTH, vehicle=v) for v in VEHICLES}
        b.start(*self.specs.values())
        self.station, self.link = self.open_station()

    def open_station(self) -> tuple[Station, RosLink]:
        update_queue = UpdateQueue()
        link = RosLink(update_queue, self.harness.domain.number)
        station = Station(FleetModel(), update_queue, link)
        station.resize(1280, 800)
        station.show()
        station.start()
        return station, link

    @property
    def model(self) -> FleetModel:
        return self.station.model

    def start(self, name: str) -> None:
        self.harness.start(self.specs[name])

    def kill(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        self.children[name].signal(how)
        assert self.children[name].wait(20.0)

    def turn(self) -> None:
        """Window and observer get their share; then the lists are cut, or they would grow."""
        self.app.processEvents()
        self.harness.linger(0.01)
        for received in (self.reference, *self.truth.values()):
            del received[:-5]

    @property
    def t_s(self) -> float:
        return self.harness.t_s

    def until(self, holds: Callable[[], Any], what: str, wall_s: float = 40.0) -> None:
        end = time.monotonic() + wall_s
        while not holds():
            if time.monotonic() > end:
                lines = [f"{n}: {line}" for n, c in self.children.items() for line in c.lines[-8:]]
                events = [e.text for e in self.model.events]
                notes = [f"tuning: {self.station.tuning_panel.note.text()}"]
                raise AssertionError("\n".join([f"waited for {what}", *notes, *events[-10:], *lines]))
            self.turn()

    def pass_s(self, seconds: float) -> None:
        """Of the fleet's time."""
        end = self.t_s + seconds
        self.until(lambda: self.t_s >= end, f"{seconds} s of simulated time")

    def setpoint(self) -> Any:
        return convert.preview_from_message(self.reference[-1]).positions_m[0]

    def tab(self, name: str) -> None:
        tabs = self.station.tabs
        tabs.setCurrentIndex(next(i for i in range(tabs.count()) if tabs.tabText(i) == name))
        self.app.processEvents()

    def mode(self, mode: str) -> None:
        QtTest.QTest.mouseClick(self.station.bar.modes[mode], LEFT)
        self.until(lambda: self.model.mode == mode, f"mode {mode}")

    def close(self) -> None:
        self.station.close_down()
        self.station.close()
        self.link.close()
