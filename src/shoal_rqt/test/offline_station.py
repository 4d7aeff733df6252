"""A station without ROS for tests: a simulated fleet's state in, requests out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("pyqtgraph")
pytest.importorskip("PySide6.QtTest")
from PySide6 import QtTest

from shoal.fleet.file import load_fleet
from shoal.messages.odometry import Odometry
from shoal_rqt import updates
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import Qt, application
from shoal_rqt.requests import NoLink
from shoal_rqt.station import Station
from shoal_rqt.update_queue import UpdateQueue

LEFT = Qt.MouseButton.LeftButton


def send(station: Station, *items: updates.Update) -> None:
    for item in items:
        station.update_queue.put(item)
    station.process_updates()
    # The window redraws only so often; the test looks now, however fast the machine is.
    station.draw(time.monotonic())
    station.show_numbers(time.monotonic())
    application().processEvents()


def state(north: float, east: float, heading_deg: float) -> Odometry:
    half = np.radians(heading_deg) / 2
    place = np.array([north, east, 5.0])
    return Odometry.of_parts(1.0, place, np.array([np.cos(half), 0, 0, np.sin(half)]), np.zeros(3), np.zeros(3))


@contextmanager
def opened() -> Iterator[Station]:
    """With a fleet of two face to face."""
    application()
    made = Station(FleetModel(load_fleet("two")), UpdateQueue(), NoLink())
    made.resize(1280, 800)
    made.show()
    made.activateWindow()  # X11 without a window manager gives the focus to nobody
    QtTest.QTest.qWaitForWindowActive(made, 2000)
    made.model.sight_pairs = (("rov1", "rov2"), ("rov2", "rov1"))
    nodes = frozenset({"/guidance", "/rov1/mpc", "/rov2/mpc"})
    send(
        made,
        updates.OdometryUpdate("rov1", state(0.0, -1.1, 90.0)),
        updates.OdometryUpdate("rov2", state(0.0, 1.1, -90.0)),
        updates.GraphUpdate(("rov1", "rov2"), nodes, stick=False),
        updates.ModeUpdate("hold"),
    )
    try:
        yield made
    finally:
        made.close_down()
        made.close()


def requests(station: Station, what: str) -> list[Any]:
    assert isinstance(station.link, NoLink)
    return [value for kind, value in station.link.requests if kind == what]
