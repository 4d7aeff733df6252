"""What belongs to the fleet as a whole in the two views: the reference, everybody's place, who sees whom, the queue."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray

from shoal.messages.health import Severity
from shoal_rqt.drawn_path import DrawnPath
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtGui
from shoal_rqt.theme import Theme, faded
from shoal_rqt.widgets.pens import NO_BRUSH, pen

Array = NDArray[np.float64]
STALE_S = 2.0  # of wall time; an older reference is drawn faint
KINDS = (Severity.OK, Severity.WARNING, Severity.ERROR)


class FleetLayer:
    """Items are made once and moved. Each comes twice: from above, and from the side."""

    def __init__(self, above: pg.PlotItem, side: pg.PlotItem) -> None:
        self.preview, self.side_preview, self.queue, self.side_queue = (pg.PlotCurveItem() for _ in range(4))
        self.setpoint, self.side_setpoint = pg.ScatterPlotItem(), pg.ScatterPlotItem()
        self.places, self.side_places = pg.ScatterPlotItem(), pg.ScatterPlotItem()
        self.links = {kind: pg.PlotCurveItem(connect="pairs") for kind in KINDS}
        self.angles: list[pg.TextItem] = []
        self.path, self.side_path = pg.PlotCurveItem(), pg.PlotCurveItem()
        self._path_of_test = DrawnPath()
        self._above = above
        for item in (self.path, *self.links.values(), self.preview, self.queue, self.places, self.setpoint):
            above.addItem(item, ignoreBounds=True)
        for item in (self.side_path, self.side_preview, self.side_queue, self.side_places, self.side_setpoint):
            side.addItem(item, ignoreBounds=True)
        for item in (self.preview, self.side_preview, self.setpoint, self.side_setpoint):
            item.setZValue(25)

    def show(self, model: FleetModel, theme: Theme, wall_s: float) -> None:
        """As it is now."""
        self._show_path(model, theme)
        self._show_reference(model, theme, wall_s)
        self._show_queue(model, theme)
        self._show_links(model, theme, wall_s)

    def _show_path(self, model: FleetModel, theme: Theme) -> None:
        """All of the path that the test follows."""
        points = self._path_of_test.of(model.test)
        line = pen(faded(theme.reference, 0.35), 1.5)
        self.path.setData(points[:, 1], points[:, 0], pen=line)
        self.side_path.setData(points[:, 1], points[:, 2], pen=line)

    def _show_reference(self, model: FleetModel, theme: Theme, wall_s: float) -> None:
        preview = model.preview
        points = np.zeros((0, 3)) if preview is None else preview.positions_m
        stale = model.reference_received_s is None or wall_s - model.reference_received_s > STALE_S
        colour = faded(theme.reference, 0.3 if stale else 1.0)
        for curve, dots, down in ((self.preview, self.setpoint, 0), (self.side_preview, self.side_setpoint, 2)):
            curve.setData(points[:, 1], points[:, down], pen=pen(colour, 2.0, dashed=True))
            dots.setData(
                points[:1, 1], points[:1, down], symbol="crosshair", size=22, pen=pen(colour, 2.0), brush=NO_BRUSH
            )
        spots, side_spots = [], []
        if preview is not None and model.placement is not None:
            for index, name in enumerate(model.vehicles):
                if name in model.placement.offsets:
                    own = model.placement.setpoint(name, preview).positions_m[0]
                    look = {"pen": pen(theme.vehicle(index), 2.0), "brush": NO_BRUSH, "symbol": "s", "size": 10}
                    spots.append({"pos": (own[1], own[0]), **look})
                    side_spots.append({"pos": (own[1], own[2]), **look})
        self.places.setData(spots)
        self.side_places.setData(side_spots)

    def _show_queue(self, model: FleetModel, theme: Theme) -> None:
        points = model.queue_m
        if len(points) and model.preview is not None:
            points = np.vstack([model.preview.positions_m[:1], points])
        line = pen(faded(theme.reference, 0.6), 1.5, dotted=True)
        self.queue.setData(points[:, 1], points[:, 0], pen=line)
        self.side_queue.setData(points[:, 1], points[:, 2], pen=line)

    def _show_links(self, model: FleetModel, theme: Theme, wall_s: float) -> None:
        """A line from each vehicle to each one it must see; where sight is lost it is thick and shows the angle."""
        ends: dict[Severity, list[Array]] = {kind: [] for kind in KINDS}
        texts: list[tuple[str, Array]] = []
        for seer, seen in model.sight_pairs:
            a, b = model.vehicles.get(seer), model.vehicles.get(seen)
            if a is None or b is None or a.position_m is None or b.position_m is None:
                continue
            if a.is_lost(wall_s) or b.is_lost(wall_s):
                continue
            view = model.neighbour(seer, seen, wall_s)
            ends[view.sight_severity] += [a.position_m, b.position_m]
            if view.sight_severity is Severity.ERROR:
                texts.append((f"{seer} points {view.angle_deg:.0f}° away", a.position_m))
        looks = {
            Severity.OK: pen(faded(theme.ink, 0.18), 1.0),
            Severity.WARNING: pen(theme.warn, 2.0, dashed=True),
            Severity.ERROR: pen(theme.bad, 4.0),
        }
        for kind, curve in self.links.items():
            points = np.array(ends[kind]).reshape(-1, 3)
            curve.setData(points[:, 1], points[:, 0], pen=looks[kind], connect="pairs")
        self._show_angles(texts, theme)

    def _show_angles(self, texts: list[tuple[str, Array]], theme: Theme) -> None:
        while len(self.angles) < len(texts):
            item = pg.TextItem(anchor=(0.5, 1.0))
            item.setZValue(40)
            self._above.addItem(item, ignoreBounds=True)
            self.angles.append(item)
        above_m = 32 * abs(float(self._above.getViewBox().viewPixelSize()[1]))  # clear of the hull
        for i, item in enumerate(self.angles):
            item.setVisible(i < len(texts))
            if i < len(texts):
                text, place = texts[i]
                item.setText(text, color=QtGui.QColor(theme.bad))
                item.setPos(place[1], place[0] + above_m)
