"""How the window looks without ROS: sizes, themes, and what must stay in sight."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyqtgraph")
pytest.importorskip("PySide6.QtTest")
from PySide6 import QtTest

from offline_station import LEFT, opened, send, state
from shoal.fleet.stop import StopState
from shoal_rqt import updates
from shoal_rqt.qt import Qt, QtCore, application
from shoal_rqt.station import Station
from shoal_rqt.theme import THEMES
from shoal_rqt.widgets.tab_rows import TabRows


@pytest.fixture
def station() -> Iterator[Station]:
    with opened() as made:
        yield made


def test_all_tabs_and_buttons_are_in_sight_at_rqts_first_size(station: Station) -> None:
    station.resize(760, 571)
    send(station)
    rows = station.findChild(TabRows)
    assert rows is not None and [b.text() for b in rows.buttons] == [station.tabs.tabText(i) for i in range(8)]
    for made in rows.buttons:
        assert made.isVisible() and made.width() >= made.sizeHint().width(), made.text()
        assert rows.rect().contains(made.geometry())
        QtTest.QTest.mouseClick(made, LEFT)
        assert station.tabs.tabText(station.tabs.currentIndex()) == made.text()
    QtTest.QTest.keyClick(station, Qt.Key.Key_3, Qt.KeyboardModifier.ControlModifier)
    assert [b.text() for b in rows.buttons if b.isChecked()] == ["Tests"]
    view = station.view
    for tool in (view.adding, view.following, view.fit_button, view.clear_button):
        assert tool.width() >= tool.sizeHint().width(), tool.text()  # else its text is cut


@pytest.mark.parametrize("size", [(760, 571), (1024, 640)])
def test_what_the_bar_says_of_a_stop_is_never_cut(station: Station, size: tuple[int, int]) -> None:
    station.resize(*size)
    send(station, updates.StopUpdate("/rov1/mpc", StopState(3, True, "/fleet/stop")))
    send(station, updates.StopUpdate("/dynamics", StopState(2)))  # the buttons have their places now
    bar = station.bar
    words = "STOP 3 by /fleet/stop; not stopped yet: /dynamics"
    assert bar.note.text() == words
    shown = bar.whole if bar.whole.isVisible() else bar.note
    assert words in shown.text()
    line = shown.fontMetrics().boundingRect(
        QtCore.QRect(0, 0, shown.width(), 1000), int(Qt.TextFlag.TextWordWrap), shown.text()
    )
    assert line.width() <= shown.width() and line.height() <= shown.height()
    assert (station.width(), station.height()) == size
    send(station, updates.StopUpdate("/dynamics", StopState(4)), updates.StopUpdate("/rov1/mpc", StopState(4)))
    send(station)
    assert not bar.whole.isVisible()


@pytest.mark.parametrize("theme", list(THEMES.values()), ids=lambda t: t.name)
def test_an_empty_tick_box_is_in_sight(station: Station, theme: Any) -> None:
    """Its edge stands out from the list; in the dark it did not."""
    station.apply_theme(theme)
    station.tabs.setCurrentWidget(station.test_panel)
    send(station)
    tests = station.test_panel.tests
    row = next(r for r in range(tests.count()) if tests.item(r).checkState() == Qt.CheckState.Unchecked)
    place = tests.visualItemRect(tests.item(row))
    image = tests.viewport().grab(QtCore.QRect(place.left(), place.top(), 18, place.height())).toImage()
    greys = [image.pixelColor(x, y).lightness() for x in range(image.width()) for y in range(image.height())]
    assert max(greys) - min(greys) > 60


def test_names_of_vehicles_side_by_side_do_not_cover_each_other(station: Station) -> None:
    send(station, updates.OdometryUpdate("rov2", state(0.0, -1.0, 90.0)))
    box = station.view.above.getPlotItem().getViewBox()
    rects = []
    for layer in station.view._vehicles.values():
        size, at = layer.label.textItem.boundingRect(), box.mapViewToScene(layer.label.pos())
        assert layer.label.isVisible()
        rects.append(QtCore.QRectF(at.x() - size.width() / 2, at.y(), size.width(), size.height() - 4))
    assert not rects[0].intersects(rects[1])
    assert abs(rects[0].top() - rects[1].top()) > 5  # one of them stands lower


@pytest.mark.parametrize("size", [(760, 571), (1024, 640), (1920, 1080), (3840, 2160)])
@pytest.mark.parametrize("theme", list(THEMES.values()), ids=lambda t: t.name)
def test_every_tab_fits_every_size(station: Station, size: tuple[int, int], theme: Any) -> None:
    station.apply_theme(theme)
    station.resize(*size)
    for index in range(station.tabs.count()):
        station.tabs.setCurrentIndex(index)
        station.show_numbers(time.monotonic())
        application().processEvents()
        assert (station.width(), station.height()) == size  # nothing has pushed it wider
        panel = station.tabs.currentWidget()
        assert panel.minimumSizeHint().width() <= panel.width() + 4, station.tabs.tabText(index)
    assert not station.grab().isNull()
