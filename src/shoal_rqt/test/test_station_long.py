"""The station by keyboard, in colours that all can tell apart, and after half an hour."""

from __future__ import annotations

import gc
import os
import sys
import time

import numpy as np
import psutil
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("pyqtgraph")
pytest.importorskip("PySide6.QtTest")

from shoal_rqt import updates
from shoal_rqt.qt import Qt, QtCore, application
from shoal_rqt.station import Station
from shoal_rqt.theme import DARK, LIGHT
from test_station import requests, state, station  # noqa: F401 - a fixture


def test_water_that_cannot_be_is_refused_here(station: Station) -> None:  # noqa: F811
    panel = station.environment_panel
    panel.current[0].setValue(4.0)
    panel.waves[0].setValue(3.0)
    panel.apply_water()
    assert requests(station, "water") == [] and "at most 5" in panel.note.text()
    panel.still()
    assert requests(station, "water")[0].current_mps == (0.0, 0.0, 0.0)


def test_every_control_is_reached_with_tab(station: Station) -> None:  # noqa: F811
    kinds = ("QPushButton", "QToolButton", "QDoubleSpinBox", "QLineEdit", "Choice")
    for index in range(station.tabs.count()):
        panel = station.tabs.widget(index)
        for child in panel.findChildren(QtCore.QObject):
            if type(child).__name__ in kinds and child.isEnabled():
                assert child.focusPolicy() != Qt.FocusPolicy.NoFocus or child.parent().focusPolicy(), child


def test_signal_colours_differ_for_colour_blind_eyes() -> None:
    """In lightness too, or they would be the same grey; and readable on their ground (WCAG: 3 to 1 for large text)."""

    def luminance(colour: str) -> float:
        parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for theme in (LIGHT, DARK):
        ground = luminance(theme.panel)
        for colour in (theme.ink, theme.quiet, theme.good, theme.warn, theme.bad, theme.accent):
            light, dark = max(ground, luminance(colour)), min(ground, luminance(colour))
            assert (light + 0.05) / (dark + 0.05) >= 3.0, (theme.name, colour)
        assert len(set(theme.vehicles)) == len(theme.vehicles)


# -- running long -----------------------------------------------------------------------------------------------


def test_running_on_leaves_no_more_memory_behind(station: Station) -> None:  # noqa: F811
    """What half an hour of drawing would add, by the same measure, stays below 20 MB of Python's and none of Qt's."""

    def run(beats: int, start: int) -> None:
        for k in range(start, start + beats):
            t_s = 0.05 * k
            for name, east, heading in (("rov1", -1.1, 90.0), ("rov2", 1.1, -90.0)):
                station.update_queue.put(updates.OdometryUpdate(name, state(0.02 * k, east, heading)))
                station.update_queue.put(updates.ThrustUpdate(name, np.full(8, np.sin(t_s))))
            station.update_queue.put(updates.ClockUpdate(t_s))
            for text in (f"event {k}", f"another {k}"):
                station.update_queue.put(updates.EventUpdate(0, text))
            station.process_updates()
            station.view.refresh(time.monotonic())
            station.show_numbers(time.monotonic())
            application().processEvents()

    def living() -> tuple[int, int]:
        gc.collect()
        return sys.getallocatedblocks(), psutil.Process().memory_info().rss

    run(120, 0)  # caches, trails and event lists fill up
    blocks, rss = living()
    run(80, 120)
    more_blocks, more_rss = living()
    draws = 1800 / 0.1  # in half an hour
    assert (more_blocks - blocks) / 80 * draws * 64 < 20e6  # bytes
    assert more_rss - rss < 6e6  # what Qt itself keeps; memory comes in large pieces
