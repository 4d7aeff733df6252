"""Sight angle and distance of every vehicle over the last two minutes, with the soft and hard limits."""

from __future__ import annotations

import pyqtgraph as pg

from shoal_rqt.history import KEPT_S, History
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import Qt, QtWidgets
from shoal_rqt.theme import LIGHT, Theme
from shoal_rqt.widgets.pens import pen

TITLES = ("sight angle, °", "distance, m")


class PlotPanel(QtWidgets.QWidget):
    """`sample` always, `refresh` while it is looked at."""

    def __init__(self, model: FleetModel) -> None:
        super().__init__()
        self._model, self._history, self._theme = model, History(), LIGHT
        self.plots = tuple(pg.PlotWidget() for _ in TITLES)
        self.curves: dict[str, tuple[pg.PlotDataItem, ...]] = {}
        self.limits = tuple(tuple(pg.InfiniteLine(angle=0) for _ in ("soft", "hard")) for _ in TITLES)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(2, 6, 2, 2)
        for plot, title, lines in zip(self.plots, TITLES, self.limits, strict=True):
            item = plot.getPlotItem()
            item.setMenuEnabled(False)
            item.hideButtons()
            item.setLabel("left", title)
            item.setLabel("bottom", "time before now, s")
            item.getAxis("left").setWidth(52)
            item.showGrid(x=True, y=True, alpha=0.25)
            item.setMouseEnabled(x=False, y=False)
            item.setXRange(-KEPT_S, 0.0, padding=0.01)
            for line in lines:
                item.addItem(line)
            plot.setMinimumSize(200, 90)
            plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            layout.addWidget(plot, 1)
        self.legend = QtWidgets.QLabel()
        self.legend.setWordWrap(True)
        layout.addWidget(self.legend)

    def sample(self, wall_s: float) -> None:
        """Also while another tab is in front: what led to an alarm is what one wants to see."""
        self._history.sample(self._model, wall_s)

    def refresh(self, theme: Theme) -> None:
        """Draw what is known."""
        if theme is not self._theme or self.curves.keys() != self._model.vehicles.keys():
            self._theme = theme
            self._restyle(theme)
        for name, curves in self.curves.items():
            times_s, *values = self._history.series(name)
            for curve, series in zip(curves, values, strict=True):
                curve.setData(times_s, series, connect="finite")
        limits = self._model.limits
        bounds = ((limits.sight_soft_deg, limits.sight_hard_deg), (limits.distance_soft_m, limits.distance_hard_m))
        for lines, values_ in zip(self.limits, bounds, strict=True):
            for line, value in zip(lines, values_, strict=True):
                line.setValue(value)
        self.plots[0].setYRange(0.0, 1.15 * limits.sight_hard_deg, padding=0.0)
        self.plots[1].setYRange(0.0, 2.0 * limits.distance_soft_m, padding=0.0)

    def _restyle(self, theme: Theme) -> None:
        for curves in self.curves.values():
            for plot, curve in zip(self.plots, curves, strict=True):
                plot.removeItem(curve)
        self.curves = {
            name: tuple(plot.plot(pen=pen(theme.vehicle(i), 1.8)) for plot in self.plots)
            for i, name in enumerate(self._model.vehicles)
        }
        for plot, (soft, hard) in zip(self.plots, self.limits, strict=True):
            plot.setBackground(theme.water)
            soft.setPen(pen(theme.warn, 1.2, dashed=True))
            hard.setPen(pen(theme.bad, 1.6, dashed=True))
            for name in ("left", "bottom"):
                axis = plot.getPlotItem().getAxis(name)
                axis.setPen(pen(theme.line, 1.0))
                axis.setTextPen(pen(theme.quiet))
        names = (
            f"<span style='color:{theme.vehicle(i).name()}'>■</span> {n}" for i, n in enumerate(self._model.vehicles)
        )
        self.legend.setText("&nbsp; ".join([*names, "dashed: soft and hard limits"]))
