"""Joints, ports, a docking with its cones and funnel, and the cells of a platform, in the two views."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray

from shoal.docking.phases import DockingSettings
from shoal.frames import rotation_matrix
from shoal.messages.state import ATTITUDE, POSITION
from shoal.platform.blueprint import Cell
from shoal.platform.blueprint import place as cell_place
from shoal.vehicles.ports import Port
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtGui, QtWidgets
from shoal_rqt.theme import Theme, faded
from shoal_rqt.vehicle_state import VehicleState
from shoal_rqt.widgets import shapes
from shoal_rqt.widgets.pens import NO_BRUSH, pen

Array = NDArray[np.float64]
NOTHING: Array = np.zeros((0, 3))
PORTS_FROM_PX = 48.0  # a hull that is smaller on the screen has no room for its ports; those that dock show them
CONE_M = 2.6  # how far a port's camera is drawn
SETTINGS = DockingSettings()


class StructureLayer:
    """Items are made once and moved."""

    def __init__(self, above: pg.PlotItem, side: pg.PlotItem) -> None:
        self._above = above
        self.joints, self.side_joints = pg.PlotCurveItem(), pg.PlotCurveItem()
        self.ports, self.side_ports = pg.ScatterPlotItem(), pg.ScatterPlotItem()
        self.line, self.side_line = pg.PlotCurveItem(), pg.PlotCurveItem()
        self.cones, self.funnel, self.cells = (QtWidgets.QGraphicsPathItem() for _ in range(3))
        self.text = pg.TextItem(anchor=(0.0, 0.5))
        for z, item in enumerate((self.cells, self.cones, self.funnel)):
            item.setZValue(4 + z)
        for item in (self.joints, self.line, self.ports, self.side_joints, self.side_line, self.side_ports):
            item.setZValue(30)
        self.text.setZValue(41)
        for item in (self.cells, self.cones, self.funnel, self.joints, self.line, self.ports, self.text):
            above.addItem(item, ignoreBounds=True)
        for item in (self.side_joints, self.side_line, self.side_ports):
            side.addItem(item, ignoreBounds=True)

    def show(self, model: FleetModel, theme: Theme) -> None:
        """As it is now."""
        self._show_joints(model, theme)
        self._show_docking(model, theme)
        self._show_ports(model, theme)
        self._show_cells(model, theme)

    # -- joints ------------------------------------------------------------------------------------------------

    def _show_joints(self, model: FleetModel, theme: Theme) -> None:
        """From middle to middle over the point that both share, so that a joint is seen from far away too."""
        ends: list[Array] = []
        for joint in model.structures.joining.joints:
            a, b = (_state(model.vehicles.get(name)) for name in (joint.a, joint.b))
            if a is None or b is None:
                continue
            middle = (_at(a, joint.at_a_m) + _at(b, joint.at_b_m)) / 2
            ends += [a[POSITION], middle, middle, b[POSITION]]
        for vehicle in model.vehicles.values():
            state = _state(vehicle)
            if state is None or vehicle.shape is None or not vehicle.shape.joined:
                continue
            for at in vehicle.shape.joints_m:  # a cross of a hand's width at each joint of the drawing
                for arm in ((0.04, 0.04, 0.0), (0.04, -0.04, 0.0)):
                    ends += [_at(state, at - np.array(arm)), _at(state, at + np.array(arm))]
        points = np.array(ends).reshape(-1, 3)
        for curve, down in ((self.joints, 0), (self.side_joints, 2)):
            curve.setData(points[:, 1], points[:, down], pen=pen(theme.ink, 4.0), connect="pairs")

    # -- docking -----------------------------------------------------------------------------------------------

    def _show_docking(self, model: FleetModel, theme: Theme) -> None:
        order, told, cones, funnel = model.structures.order, model.structures.feedback(), _path(), _path()
        line, words, place = NOTHING, "", np.zeros(3)
        if order is not None and told is not None and model.structures.docking_now:
            leader = _port_state(model, order.leader, order.leader_port)
            follower = _port_state(model, order.follower, order.follower_port)
            if leader is not None and follower is not None:
                line = np.array([_at(s, p.place_m) for p, s in (leader, follower)])
                for port, state in (leader, follower):
                    cones.addPath(_cone(port, state))
                funnel = _funnel(*leader, max(told.gap_m, 0.1))
                words, place = f"{told.phase}\ngap {told.gap_m:.2f} m\n{1000 * told.lateral_m:.0f} mm aside", line[0]
        strays = told is not None and told.lateral_m > SETTINGS.funnel_m + SETTINGS.funnel_share * max(told.gap_m, 0.0)
        for curve, down in ((self.line, 0), (self.side_line, 2)):
            curve.setData(line[:, 1], line[:, down], pen=pen(theme.accent, 2.0, dotted=True))
        self.cones.setPath(cones)
        self.cones.setPen(pen(faded(theme.accent, 0.6), 1.0))
        self.cones.setBrush(faded(theme.accent, 0.08))
        self.funnel.setPath(funnel)
        self.funnel.setPen(pen(theme.bad if strays else theme.good, 2.5 if strays else 1.5, dashed=strays))
        self.funnel.setBrush(faded(theme.good, 0.0 if strays else 0.2))
        self.text.setVisible(bool(words))
        if words:
            aside = 60 * abs(float(self._above.getViewBox().viewPixelSize()[0]))
            self.text.setText(words, color=QtGui.QColor(theme.ink))
            self.text.setPos(place[1] + aside, place[0] + aside)

    # -- ports -------------------------------------------------------------------------------------------------

    def _show_ports(self, model: FleetModel, theme: Theme) -> None:
        """Dots at the hulls; those that are to meet are filled."""
        order = model.structures.order if model.structures.docking_now else None
        chosen = set() if order is None else {(order.leader, order.leader_port), (order.follower, order.follower_port)}
        spots, side_spots = [], []
        pixel = abs(float(self._above.getViewBox().viewPixelSize()[0]))
        for vehicle in model.vehicles.values():
            state, shape = _state(vehicle), vehicle.shape
            if state is None or shape is None:
                continue
            if shape.size_m[0] < PORTS_FROM_PX * pixel and vehicle.name not in {name for name, _ in chosen}:
                continue
            for port in shape.ports:
                at = _at(state, port.place_m)
                meets = (vehicle.name, port.name) in chosen
                look = {"pen": pen(theme.ink, 1.2), "brush": QtGui.QColor(theme.accent) if meets else NO_BRUSH,
                        "size": 11 if meets else 6, "symbol": "d" if port.camera is not None else "o"}  # fmt: skip
                spots.append({"pos": (at[1], at[0]), **look})
                side_spots.append({"pos": (at[1], at[2]), **look})
        self.ports.setData(spots)
        self.side_ports.setData(side_spots)

    # -- platform ----------------------------------------------------------------------------------------------

    def _show_cells(self, model: FleetModel, theme: Theme) -> None:
        """Cells of the blueprint that nobody fills yet, where the members say that they are."""
        path, platform = _path(), model.structures.platform
        known = [] if platform is None else [
            (cell, state, vehicle.shape.size_m) for name, cell in platform.cells.items()
            if (vehicle := model.vehicles.get(name)) is not None and vehicle.shape is not None
            and (state := _state(vehicle)) is not None
        ]  # fmt: skip
        if platform is not None and known:
            cell, state, size = known[0]
            for free in sorted(set(platform.wanted) - set(platform.cells.values())):
                path.addPath(_cell(free, cell, state, size[:2]))
        self.cells.setPath(path)
        self.cells.setPen(pen(theme.reference, 1.2, dashed=True))
        self.cells.setBrush(NO_BRUSH)


def _path() -> QtGui.QPainterPath:
    return QtGui.QPainterPath()


def _state(vehicle: VehicleState | None) -> Array | None:
    return None if vehicle is None or vehicle.odometry is None else vehicle.odometry.state


def _at(state: Array, body_m: Array) -> Array:
    return np.asarray(state[POSITION] + rotation_matrix(state[ATTITUDE]) @ body_m)


def _port_state(model: FleetModel, vehicle: str, port: str) -> tuple[Port, Array] | None:
    known = model.vehicles.get(vehicle)
    state = _state(known)
    if known is None or state is None or known.shape is None:
        return None
    found = next((p for p in known.shape.ports if p.name == port), None)
    return None if found is None else (found, state)


def _cone(port: Port, state: Array) -> QtGui.QPainterPath:
    """What the port's camera sees, from above."""
    if port.camera is None:
        return _path()
    axis = rotation_matrix(state[ATTITUDE]) @ port.camera.axis
    at = _at(state, port.camera.place_m)
    return shapes.wedge(float(np.arctan2(axis[1], axis[0])), port.camera.half_angle_deg, CONE_M, at[1], at[0])


def _funnel(port: Port, state: Array, gap_m: float) -> QtGui.QPainterPath:
    """Where the follower's port may be on its way: narrow at the leader's port, wider further out; from above."""
    out = (rotation_matrix(state[ATTITUDE]) @ port.direction)[:2]
    out = out / max(float(np.linalg.norm(out)), 1e-9)
    aside, mouth = np.array([-out[1], out[0]]), _at(state, port.place_m)[:2]
    wide_m = SETTINGS.funnel_m + SETTINGS.funnel_share * gap_m
    far = mouth + gap_m * out
    corners = np.array([mouth + SETTINGS.funnel_m * aside, far + wide_m * aside,
                        far - wide_m * aside, mouth - SETTINGS.funnel_m * aside])  # fmt: skip
    return shapes.outline(corners[:, [1, 0]])


def _cell(cell: Cell, anchor: Cell, state: Array, size_m: tuple[float, ...]) -> QtGui.QPainterPath:
    """A cell as seen from a vessel in the cell `anchor`."""
    length, width = size_m
    at = cell_place(cell, anchor, (length, width))
    corners = np.array([[x, y, 0.0] for x, y in ((0.5, 0.5), (0.5, -0.5), (-0.5, -0.5), (-0.5, 0.5))])
    corners = corners * [length, width, 0.0] + [at.x_m, at.y_m, 0.0]
    return shapes.outline(np.array([_at(state, corner)[[1, 0]] for corner in corners]))
