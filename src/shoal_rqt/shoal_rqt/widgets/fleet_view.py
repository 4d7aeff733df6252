"""Plan view and depth profile. Wheel zooms, drag pans; a click adds a waypoint while that is switched on."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray

from shoal_rqt.model import FleetModel
from shoal_rqt.qt import Qt, QtCore, QtGui, QtWidgets
from shoal_rqt.theme import LIGHT, Theme, faded
from shoal_rqt.waypoint_list import WaypointList
from shoal_rqt.widgets.fleet_layer import FleetLayer
from shoal_rqt.widgets.label_spread import spread
from shoal_rqt.widgets.pens import pen
from shoal_rqt.widgets.structure_layer import StructureLayer
from shoal_rqt.widgets.vehicle_layer import VehicleLayer
from shoal_rqt.widgets.waypoint_layer import WaypointLayer

Array = NDArray[np.float64]
MARGIN_M = 1.6
DEPTH_MARGIN_M = 0.5
ARROWS = "↑↗→↘↓↙←↖"  # north is up
AXIS_PX = 52  # the same left of both views, so that east is above east


class FleetView(QtWidgets.QWidget):
    """`refresh` as often as you like; it draws what the model holds."""

    def __init__(self, model: FleetModel, waypoints: WaypointList, parent: QtWidgets.QWidget | None = None) -> None:
        super().__init__(parent)
        self._model, self._waypoints, self._theme = model, waypoints, LIGHT
        self._vehicles: dict[str, VehicleLayer] = {}
        self._fitted = False
        self.above, self.side = pg.PlotWidget(), pg.PlotWidget()
        self._set_up(self.above, "north x (m)", "east y (m)")
        self._set_up(self.side, "depth (m)", "east y (m)")
        self.above.getPlotItem().setAspectLocked(True)
        self.side.getPlotItem().invertY(True)
        self.side.setXLink(self.above)
        self._surface = pg.InfiniteLine(
            0.0, angle=0, label="surface", labelOpts={"position": 0.04, "anchors": [(0, 0)] * 2}
        )
        self.side.addItem(self._surface, ignoreBounds=True)
        self._water = pg.LabelItem(justify="left")
        self._water.setParentItem(self.above.getPlotItem().getViewBox())
        self._water.anchor(itemPos=(0, 0), parentPos=(0, 0), offset=(6, 2))
        self.off_screen = pg.LabelItem(justify="left")
        self.off_screen.setParentItem(self.above.getPlotItem().getViewBox())
        self.off_screen.anchor(itemPos=(0, 1), parentPos=(0, 1), offset=(6, -2))
        self._fleet = FleetLayer(self.above.getPlotItem(), self.side.getPlotItem())
        self._structures = StructureLayer(self.above.getPlotItem(), self.side.getPlotItem())
        self.marks = WaypointLayer(self.above.getPlotItem(), waypoints, 0, lambda: self._theme)
        self.side_marks = WaypointLayer(self.side.getPlotItem(), waypoints, 2, lambda: self._theme)
        self._build()
        self.above.scene().sigMouseClicked.connect(self._clicked_above)
        self.side.scene().sigMouseClicked.connect(self._clicked_side)

    def _build(self) -> None:
        self.adding = _button("+ Waypoint", "Each click in the views adds a waypoint (Ctrl+W)", checkable=True)
        self.click_depth = QtWidgets.QDoubleSpinBox(minimum=-5, maximum=1000, value=5.0, singleStep=0.5, suffix=" m")
        self.click_depth.setMaximumWidth(78)  # at 760 px of window the buttons beside it need the rest
        self.click_depth.setToolTip("Depth of waypoints that are clicked in the plan view")
        self.following = _button("Follow", "Keep the fleet in the middle (Ctrl+F)", checkable=True)
        self.following.setChecked(True)  # a fleet that follows a path leaves a fixed view within a minute
        self.fit_button = _button("Fit", "Show all (Ctrl+0)")
        self.clear_button = _button("Clear", "Clear the trails: forget where the vehicles have been (Ctrl+L)")
        self.fit_button.clicked.connect(self.fit)
        self.clear_button.clicked.connect(self.clear_trails)
        row = QtWidgets.QHBoxLayout()
        for widget in (self.adding, self.click_depth, self.following, self.fit_button, self.clear_button):
            row.addWidget(widget)
        row.addStretch(1)
        split = QtWidgets.QSplitter(Qt.Orientation.Vertical)
        split.addWidget(self.above)
        split.addWidget(self.side)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 1)
        split.setSizes([600, 190])
        split.setChildrenCollapsible(False)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(row)
        layout.addWidget(split, 1)

    def _set_up(self, view: pg.PlotWidget, left: str, bottom: str) -> None:
        item = view.getPlotItem()
        item.setMenuEnabled(False)
        item.hideButtons()
        item.setLabel("left", left)
        item.setLabel("bottom", bottom)
        item.getAxis("left").setWidth(AXIS_PX)
        item.showGrid(x=True, y=True, alpha=0.25)
        view.setAntialiasing(True)
        view.setMinimumSize(220, 90)
        view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def apply_theme(self, theme: Theme) -> None:
        """Colours that pyqtgraph does not take from the style sheet."""
        self._theme = theme
        for view in (self.above, self.side):
            view.setBackground(theme.water)
            for name in ("left", "bottom"):
                axis = view.getPlotItem().getAxis(name)
                axis.setPen(pen(theme.line, 1.0))
                axis.setTextPen(pen(theme.quiet))
        self._surface.setPen(pen(faded(theme.accent, 0.7), 1.5))
        self._surface.label.setColor(QtGui.QColor(theme.quiet))
        self.marks.refresh()
        self.side_marks.refresh()

    # -- drawing ------------------------------------------------------------------------------------------------

    def refresh(self, wall_s: float) -> None:
        """Draw."""
        for index, (name, vehicle) in enumerate(self._model.vehicles.items()):
            if name not in self._vehicles:
                self._vehicles[name] = VehicleLayer(name, self.above.getPlotItem(), self.side.getPlotItem())
            self._vehicles[name].show(self._model, vehicle, self._theme, index, wall_s)
        self._fleet.show(self._model, self._theme, wall_s)
        self._structures.show(self._model, self._theme)
        self._show_water()
        places = self._places()
        if len(places) and not self._fitted:
            self._fitted = True
            self.fit()
        if self.following.isChecked() and len(places):
            self._centre(places)
            self._keep_depth(places)
        spread([layer.label for layer in self._vehicles.values()], self.above)
        spread([layer.side_label for layer in self._vehicles.values()], self.side)
        self._show_off_screen()

    def _show_water(self) -> None:
        current = self._model.current_mps
        text = ""
        if current is not None and (speed := float(np.linalg.norm(current))) > 0.005:
            bearing = float(np.degrees(np.arctan2(current[1], current[0]))) % 360
            arrow = ARROWS[round(bearing / 45) % 8] if np.hypot(current[0], current[1]) > 0.005 else "vertical"
            text = f"water {speed:.2f} m/s {arrow}"
        if text != self._water.text:
            self._water.setText(text, color=self._theme.accent, size="11pt")

    def fit(self) -> None:
        """Show vehicles, where they have been, waypoints and the reference."""
        points = [
            self._places(),
            *(v.trail.points_m for v in self._model.vehicles.values()),
            np.array([m.position_m for m in self._waypoints.marks]).reshape(-1, 3),
        ]
        points.append(self._model.queue_m)
        if self._model.preview is not None:
            points.append(self._model.preview.positions_m)
        everything = np.vstack(points)
        if not len(everything):
            return
        low, high = everything.min(axis=0) - MARGIN_M, everything.max(axis=0) + MARGIN_M
        self.above.setRange(xRange=(low[1], high[1]), yRange=(low[0], high[0]), padding=0.02)
        self.side.setYRange(min(low[2], -0.3), high[2], padding=0.02)

    def clear_trails(self) -> None:
        """Of all vehicles."""
        for vehicle in self._model.vehicles.values():
            vehicle.trail.clear()

    def _centre(self, places: Array) -> None:
        middle = places.mean(axis=0)
        (left, right), (bottom, top) = self.above.viewRange()
        east, north = middle[1] - (left + right) / 2, middle[0] - (bottom + top) / 2
        self.above.setRange(xRange=(left + east, right + east), yRange=(bottom + north, top + north), padding=0)

    def _keep_depth(self, places: Array) -> None:
        """Vehicles and setpoint stay within the depth view; it moves and grows, and never shrinks by itself."""
        depths = places[:, 2]
        if self._model.preview is not None:
            depths = np.append(depths, self._model.preview.positions_m[0, 2])
        bottom, top = self.side.viewRange()[1]
        low, high = float(depths.min()) - DEPTH_MARGIN_M, float(depths.max()) + DEPTH_MARGIN_M
        if low >= bottom and high <= top:
            return
        span = max(top - bottom, high - low)
        start = low if low < bottom else high - span
        self.side.setYRange(start, start + span, padding=0)

    def _show_off_screen(self) -> None:
        """A line of words with arrows to whatever the plan view does not show."""
        (left, right), (bottom, top) = self.above.viewRange()
        found = [(v.name, v.position_m) for v in self._model.vehicles.values() if v.position_m is not None]
        if self._model.preview is not None:
            found.append(("setpoint", self._model.preview.positions_m[0]))
        words = []
        for name, place in found:
            if left <= place[1] <= right and bottom <= place[0] <= top:
                continue
            north, east = place[0] - (bottom + top) / 2, place[1] - (left + right) / 2
            arrow = ARROWS[round(float(np.degrees(np.arctan2(east, north))) / 45) % 8]
            words.append(f"{arrow} {name} {float(np.hypot(north, east)):.0f} m")
        text = "off screen: " + ", ".join(words) if words else ""
        if text != self.off_screen.text:
            self.off_screen.setText(text, color=self._theme.bad, size="11pt")

    def _places(self) -> Array:
        found = [v.position_m for v in self._model.vehicles.values() if v.position_m is not None]
        return np.array(found).reshape(-1, 3)

    # -- the mouse ----------------------------------------------------------------------------------------------

    def _clicked_above(self, event: object) -> None:
        if (place := self._clicked(self.above, event)) is not None:
            self._waypoints.add((place.y(), place.x(), self.click_depth.value()))

    def _clicked_side(self, event: object) -> None:
        """Depth and east from the click; north as of the waypoint before."""
        if (place := self._clicked(self.side, event)) is not None:
            marks, preview = self._waypoints.marks, self._model.preview
            north = marks[-1].position_m[0] if marks else float(preview.positions_m[0, 0]) if preview else 0.0
            self._waypoints.add((north, place.x(), place.y()))

    def _clicked(self, view: pg.PlotWidget, event: object) -> QtCore.QPointF | None:
        left = event.button() == Qt.MouseButton.LeftButton  # type: ignore[attr-defined]
        if not self.adding.isChecked() or not left:
            return None
        box = view.getPlotItem().getViewBox()
        if not box.sceneBoundingRect().contains(event.scenePos()):  # type: ignore[attr-defined]
            return None
        place: QtCore.QPointF = box.mapSceneToView(event.scenePos())  # type: ignore[attr-defined]
        return place


def _button(text: str, tip: str, checkable: bool = False) -> QtWidgets.QToolButton:
    button = QtWidgets.QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    button.setCheckable(checkable)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button
