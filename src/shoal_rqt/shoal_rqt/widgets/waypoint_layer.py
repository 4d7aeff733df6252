"""The drawn-up waypoints in the two views: to be dragged, numbered, joined by a line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray

from shoal_rqt.qt import QtGui
from shoal_rqt.theme import Theme, faded
from shoal_rqt.waypoint_list import Vector, WaypointList
from shoal_rqt.widgets.pens import pen

Array = NDArray[np.float64]


class WaypointLayer:
    """`axis` is the NED axis that goes up or down in the view: 0 north (from above), 2 depth (from the side)."""

    def __init__(self, view: pg.PlotItem, waypoints: WaypointList, axis: int, theme: Callable[[], Theme]) -> None:
        self._view, self._list, self._axis, self._theme = view, waypoints, axis, theme
        self.targets: list[pg.TargetItem] = []
        self._line = pg.PlotCurveItem()
        self._line.setZValue(30)
        view.addItem(self._line, ignoreBounds=True)
        self._moving = False
        waypoints.watchers.append(self.refresh)

    def refresh(self) -> None:
        """As the list is now. Targets stay the same objects, for one of them may be under the mouse."""
        marks = self._list.marks
        while len(self.targets) > len(marks):
            self._view.removeItem(self.targets.pop())
        while len(self.targets) < len(marks):
            self._add(len(self.targets))
        theme = self._theme()
        colour = QtGui.QColor(theme.warn if self._list.unsent else theme.reference)
        self._moving = True
        for i, (target, mark) in enumerate(zip(self.targets, marks, strict=True)):
            target.setPos(mark.position_m[1], mark.position_m[self._axis])
            target.setPen(pen(colour, 2.0))
            target.setBrush(faded(theme.panel, 0.8))
            target.setHoverPen(pen(theme.accent, 3.0))
            target.setLabel(str(i + 1), {"color": colour, "offset": (10, -4)})
        self._moving = False
        points = np.array([m.position_m for m in marks]).reshape(-1, 3)
        self._line.setData(points[:, 1], points[:, self._axis], pen=pen(faded(colour, 0.7), 1.3, dashed=True))

    def _add(self, index: int) -> None:
        target = pg.TargetItem(size=15, symbol="d", movable=True)
        target.setZValue(31)
        target.sigPositionChangeFinished.connect(lambda *_: self._dropped(index))
        self._view.addItem(target, ignoreBounds=True)
        self.targets.append(target)

    def _dropped(self, index: int) -> None:
        if self._moving or index >= len(self._list.marks):
            return
        place = self.targets[index].pos()
        x, _, z = self._list.marks[index].position_m
        new: Vector = (
            (float(place.y()), float(place.x()), z) if self._axis == 0 else (x, float(place.x()), float(place.y()))
        )
        self._list.move(index, new)
