"""One vehicle in the two views: hull, sight cone, plan, trail, name."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg

from shoal.frames import rotation_matrix
from shoal.messages.health import Severity
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtGui, QtWidgets
from shoal_rqt.theme import Theme, faded
from shoal_rqt.vehicle_state import VehicleState
from shoal_rqt.widgets import shapes
from shoal_rqt.widgets.pens import NO_BRUSH, pen

HULL_M = 0.46, 0.37, 0.25  # length, width, height where the fleet file is not known: a BlueROV2's, less its floats
HULL_PX = 20.0  # length at least, however far away one looks from
CROWD = 3  # with more vehicles their names would cover each other in the side view


class VehicleLayer:
    """Items are made once and moved."""

    def __init__(self, name: str, plan: pg.PlotItem, side: pg.PlotItem) -> None:
        self.name = name
        self._plan_view, self._side_view = plan, side
        self.hard, self.soft, self.ring, self.hull, self.side_hull = (QtWidgets.QGraphicsPathItem() for _ in range(5))
        self.modules, self.side_modules = QtWidgets.QGraphicsPathItem(), QtWidgets.QGraphicsPathItem()
        self.trail, self.plan, self.side_trail, self.side_plan = (pg.PlotCurveItem() for _ in range(4))
        self.plan_end = pg.ScatterPlotItem()
        self.label, self.side_label = pg.TextItem(anchor=(0.5, 0.0)), pg.TextItem(anchor=(0.5, 0.0))
        above = (
            self.trail,
            self.hard,
            self.soft,
            self.ring,
            self.modules,
            self.hull,
            self.plan,
            self.plan_end,
            self.label,
        )
        beside = (self.side_trail, self.side_modules, self.side_hull, self.side_plan, self.side_label)
        for view, items in ((plan, above), (side, beside)):
            for z, item in enumerate(items):
                item.setZValue(10 + z)
                view.addItem(item, ignoreBounds=True)
        self._items = (*((plan, i) for i in above), *((side, i) for i in beside))

    def remove(self) -> None:
        """From both views."""
        for view, item in self._items:
            view.removeItem(item)

    def show(self, model: FleetModel, vehicle: VehicleState, theme: Theme, index: int, wall_s: float) -> None:
        """As it is now."""
        odometry, euler = vehicle.odometry, vehicle.euler_deg
        seen = odometry is not None
        for _, item in self._items:
            item.setVisible(seen)
        if odometry is None or euler is None:
            return
        north, east, down = odometry.position_m.tolist()
        yaw, lost = float(np.radians(euler[2])), vehicle.is_lost(wall_s)
        colour = theme.vehicle(index)
        self._draw_sight(model, theme, colour, yaw, east, north, wall_s)
        below, side_below = self._draw_hull(vehicle, theme, colour, yaw, east, north, down, lost)
        below = max(below, self._draw_modules(vehicle, theme, colour, lost))
        self._draw_paths(vehicle, theme, colour, lost)
        note = f" lost for {wall_s - (vehicle.received_s or wall_s):.0f} s" if lost else ""
        for label, y in ((self.label, north - below), (self.side_label, down + side_below)):
            label.setText(vehicle.name + note, color=QtGui.QColor(theme.bad) if lost else colour)
            label.setPos(east, y)
        self.side_label.setVisible(len(model.vehicles) <= CROWD)

    def _draw_sight(
        self,
        model: FleetModel,
        theme: Theme,
        colour: QtGui.QColor,
        yaw: float,
        east: float,
        north: float,
        wall_s: float,
    ) -> None:
        lost = model.vehicles[self.name].is_lost(wall_s)
        limits, reach_m = model.limits, 1.35 * model.limits.distance_soft_m
        for item, half_deg, fill in (
            (self.hard, limits.sight_hard_deg, 0.07),
            (self.soft, limits.sight_soft_deg, 0.13),
        ):
            item.setVisible(not lost and any(a == self.name for a, _ in model.sight_pairs))
            item.setPath(shapes.wedge(yaw, half_deg, reach_m, east, north))
            item.setPen(pen(faded(colour, 0.35), 1.0, dashed=item is self.hard))
            item.setBrush(faded(colour, fill))
        # Two rings that touch: the hard distance.
        self.ring.setPath(shapes.circle(limits.distance_hard_m / 2, east, north))
        close = any(
            model.neighbour(self.name, other, wall_s).distance_severity is Severity.ERROR
            for other in model.vehicles
            if other != self.name
        )
        self.ring.setPen(pen(theme.bad, 2.5) if close else pen(faded(colour, 0.5), 1.0))
        self.ring.setBrush(faded(theme.bad, 0.2) if close else NO_BRUSH)

    def _draw_hull(
        self,
        vehicle: VehicleState,
        theme: Theme,
        colour: QtGui.QColor,
        yaw: float,
        east: float,
        north: float,
        down: float,
        lost: bool,
    ) -> tuple[float, float]:
        """How far below the middle its name may stand, in both views."""
        length_m, width_m, height_m = vehicle.shape.size_m if vehicle.shape is not None else HULL_M
        width, height = (abs(float(v)) for v in self._plan_view.getViewBox().viewPixelSize())
        size_m = np.array([length_m, width_m]) * max(1.0, HULL_PX * max(width, height) / length_m)
        path = shapes.outline(shapes.seen_from_above(shapes.HULL, yaw, size_m, east, north))
        if lost:
            path.addPath(shapes.strokes(shapes.seen_from_above(shapes.CROSS, yaw, size_m, east, north)))
        self.hull.setPath(path)
        width, height = (abs(float(v)) for v in self._side_view.getViewBox().viewPixelSize())
        side_m = max(height_m, 9 * height)
        self.side_hull.setPath(shapes.box(max(length_m, 16 * width), side_m, east, down))
        for item in (self.hull, self.side_hull):
            item.setPen(pen(theme.bad if lost else theme.ink, 2.0 if lost else 1.2, dashed=lost))
            item.setBrush(NO_BRUSH if lost else colour)
        return 0.68 * float(size_m.max()), side_m / 2

    def _draw_modules(self, vehicle: VehicleState, theme: Theme, colour: QtGui.QColor, lost: bool) -> float:
        """An assembly's hulls in their true size and attitude, in place of the one hull; how far they reach."""
        shape, odometry = vehicle.shape, vehicle.odometry
        many = shape is not None and shape.joined and odometry is not None
        for item, other in ((self.modules, self.hull), (self.side_modules, self.side_hull)):
            item.setVisible(many)
            other.setVisible(not many)
        if shape is None or odometry is None or not many:
            return 0.0
        turn = rotation_matrix(odometry.attitude)
        above, beside = QtGui.QPainterPath(), QtGui.QPainterPath()
        for module in shape.modules:
            corners = odometry.position_m + module.corners_m @ turn.T
            above.addPath(shapes.outline(shapes.silhouette(corners[:, [1, 0]])))
            beside.addPath(shapes.outline(shapes.silhouette(corners[:, [1, 2]])))
        bow = odometry.position_m + shape.reach_m * turn[:, 0]  # which way the assembly's x axis points
        above.addPath(shapes.strokes(np.array([odometry.position_m[[1, 0]], bow[[1, 0]]])))
        self.modules.setPath(above)
        self.side_modules.setPath(beside)
        for item in (self.modules, self.side_modules):
            item.setPen(pen(theme.bad if lost else theme.ink, 1.6, dashed=lost))
            item.setBrush(NO_BRUSH if lost else faded(colour, 0.55))
        return shape.reach_m

    def _draw_paths(self, vehicle: VehicleState, theme: Theme, colour: QtGui.QColor, lost: bool) -> None:
        been = vehicle.trail.points_m
        going = vehicle.plan.positions_m if vehicle.plan is not None and not lost else np.zeros((0, 3))
        if not np.isfinite(going).all():
            going = np.zeros((0, 3))
        for curve, points, down in ((self.trail, been, 0), (self.side_trail, been, 2)):
            curve.setData(points[:, 1], points[:, down], pen=pen(faded(colour, 0.45), 1.4))
        for curve, points, down in ((self.plan, going, 0), (self.side_plan, going, 2)):
            curve.setData(points[:, 1], points[:, down], pen=pen(theme.ink, 2.0))
        end = going[-1:]
        self.plan_end.setData(end[:, 1], end[:, 0], pen=pen(theme.ink, 1.2), brush=colour, size=8)
