"""One vehicle in numbers: position, speed, thrusters, neighbours, and the state of its controller."""

from __future__ import annotations

from shoal_rqt.model import FleetModel
from shoal_rqt.neighbour_view import NeighbourView
from shoal_rqt.qt import Qt, QtWidgets
from shoal_rqt.theme import Theme, restyle
from shoal_rqt.vehicle_state import VehicleState
from shoal_rqt.widgets.gauges import BandGauge, ThrustBars

LEVELS = ("good", "warn", "bad")


def label(text: str = "", name: str = "", wrap: bool = False) -> QtWidgets.QLabel:
    """A text; `name` is its look in the style sheet."""
    made = QtWidgets.QLabel(text)
    made.setObjectName(name)
    made.setWordWrap(wrap)
    return made


class NeighbourRow(QtWidgets.QWidget):
    """Angle and distance to one other vehicle."""

    def __init__(self) -> None:
        super().__init__()
        self.name = label()
        self.angle, self.distance = BandGauge("°", 0, rising=True), BandGauge(" m", 2, rising=False)
        row = QtWidgets.QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.name, 2)
        row.addWidget(self.angle, 3)
        row.addWidget(self.distance, 3)

    def show_neighbour(self, view: NeighbourView, theme: Theme) -> None:
        """Bands, needle, words."""
        limits = view.limits
        word = "with " if view.near_allowed else "sees " if view.must_see else "near "
        self.name.setText(word + view.other)
        if self.name.objectName() != (look := "bad" if view.violates_hard_limit else "quiet"):
            self.name.setObjectName(look)
            restyle(self.name)
        self.angle.show_value(
            view.angle_deg, limits.sight_soft_deg, limits.sight_hard_deg, view.sight_severity, theme,
            view.must_see and not view.near_allowed,
        )  # fmt: skip
        self.distance.show_value(
            view.distance_m, limits.distance_soft_m, limits.distance_hard_m, view.distance_severity, theme,
            not view.near_allowed,
        )  # fmt: skip
        self.setToolTip(view.sentence())
        self.setAccessibleName(view.sentence())


class VehicleCard(QtWidgets.QFrame):
    """`show_vehicle` with every refresh."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName("card")
        self.chip, self.title = label("●"), label(name, "title")
        self.state = label("", "quiet", wrap=True)
        self.where, self.attitude, self.controller = label(), label(), label("", "quiet")
        self.part, self.back_end = label("", "", wrap=True), label("", "quiet", wrap=True)
        self.thrust = ThrustBars()
        self.rows: list[NeighbourRow] = []
        self._alarm = False
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(9, 6, 9, 7)
        layout.setSpacing(3)
        head = QtWidgets.QHBoxLayout()
        head.addWidget(self.chip)
        head.addWidget(self.title)
        head.addWidget(self.state, 1)
        layout.addLayout(head)
        layout.addWidget(self.where)
        layout.addWidget(self.attitude)
        layout.addWidget(self.thrust)
        self._neighbours = QtWidgets.QVBoxLayout()
        self._neighbours.setSpacing(1)
        layout.addLayout(self._neighbours)
        layout.addWidget(self.controller)
        for line in (self.part, self.back_end):
            layout.addWidget(line)
            line.hide()
        self.state.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def show_vehicle(self, model: FleetModel, vehicle: VehicleState, theme: Theme, index: int, wall_s: float) -> None:
        """As it is now."""
        look = f"color: {theme.vehicle(index).name()}; font-size: 14pt;"
        if self.chip.styleSheet() != look:  # Qt reads a style sheet anew each time
            self.chip.setStyleSheet(look)
        level, status = vehicle.status_line(wall_s)
        views = model.neighbours(vehicle.name, wall_s)
        if level < 2 and any(view.violates_hard_limit for view in views):
            level, status = 2, "LIMIT VIOLATED · " + status
        self.state.setText(status)
        self._look(level, alarm=level == 2)
        self._show_numbers(vehicle)
        self.thrust.show_thrust(vehicle, theme, theme.vehicle(index))
        while len(self.rows) < len(views):
            row = NeighbourRow()
            self.rows.append(row)
            self._neighbours.addWidget(row)
        for i, row in enumerate(self.rows):
            row.setVisible(i < len(views))
            if i < len(views):
                row.show_neighbour(views[i], theme)
        self._show_controller(model, vehicle, wall_s)
        for line, words in (
            (self.part, model.structures.part_of(vehicle.name)),
            (self.back_end, back_end_sentence(model, vehicle.name)),
        ):
            line.setText(words)
            line.setVisible(bool(words))

    def _look(self, level: int, alarm: bool) -> None:
        if self.state.objectName() != LEVELS[level]:
            self.state.setObjectName(LEVELS[level])
            restyle(self.state)
        if alarm != self._alarm:
            self._alarm = alarm
            self.setProperty("alarm", "true" if alarm else "false")
            restyle(self)

    def _show_numbers(self, vehicle: VehicleState) -> None:
        if vehicle.odometry is None or vehicle.euler_deg is None or vehicle.speed_mps is None:
            self.where.setText("position unknown")
            self.attitude.setText("")
            return
        x, y, z = vehicle.odometry.position_m
        roll, pitch, yaw = vehicle.euler_deg
        self.where.setText(f"x {x:+.2f}   y {y:+.2f}   z {z:.2f} m      {vehicle.speed_mps:.2f} m/s")
        heading = round(yaw) % 360
        self.attitude.setText(f"roll {round(roll) + 0:+d}°   pitch {round(pitch) + 0:+d}°   heading {heading:03d}°")

    def _show_controller(self, model: FleetModel, vehicle: VehicleState, wall_s: float) -> None:
        age, status = model.plan_age_s(vehicle.name, wall_s), vehicle.status
        parts = ["no plan" if age is None else f"plan {age:.2f} s old"]
        if status is not None:
            solve, overruns = status.number("solve_ms"), status.number("overruns")
            parts += [f"solver {solve:.1f} ms"] if solve is not None else []
            parts += [f"{overruns:.0f} overruns"] if overruns else []
        self.controller.setText("  ·  ".join(parts))


def back_end_sentence(model: FleetModel, vehicle: str) -> str:
    """Battery, leak and link where what drives the vehicle says so; empty where nothing does."""
    parts: list[str] = []
    for name, status in model.statuses.items():
        if not name.startswith(f"shoal: {vehicle} ") or name.endswith("controller"):
            continue
        voltage = status.number("voltage_V")
        parts += [f"battery {voltage:.1f} V"] if voltage is not None and voltage == voltage else []
        if (connected := status.values.get("connected")) is not None:
            parts.append("link up" if connected.lower() == "true" else "NO LINK")
        if (leak := status.values.get("leak")) is not None:
            parts.append("LEAK" if leak.lower() == "true" else "no leak")
        parts.append(status.message)
    return "  ·  ".join(parts)


class VehiclePanel(QtWidgets.QScrollArea):
    """All cards, one below the other, or in columns where there is room."""

    CARD_PX = 330

    def __init__(self, model: FleetModel) -> None:
        super().__init__()
        self._model = model
        self.cards: dict[str, VehicleCard] = {}
        self._columns = 0
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inside = QtWidgets.QWidget()
        self._grid = QtWidgets.QGridLayout(inside)
        self._grid.setContentsMargins(0, 2, 4, 2)
        self._grid.setSpacing(6)
        self._empty = label(
            "No vehicle yet. Start a fleet with `shoal up`, or check ROS_DOMAIN_ID.", "quiet", wrap=True
        )
        self._grid.addWidget(self._empty, 0, 0)
        self.setWidget(inside)

    def refresh(self, theme: Theme, wall_s: float) -> None:
        """All of them."""
        names = list(self._model.vehicles)
        columns = max(1, self.viewport().width() // self.CARD_PX)
        if names != list(self.cards) or columns != self._columns:
            self._arrange(names, columns)
        for index, (name, card) in enumerate(self.cards.items()):
            card.show_vehicle(self._model, self._model.vehicles[name], theme, index, wall_s)

    def _arrange(self, names: list[str], columns: int) -> None:
        self._columns = columns
        self.cards = {name: self.cards.get(name) or VehicleCard(name) for name in names}
        self._empty.setVisible(not names)
        for row in range(self._grid.rowCount()):
            self._grid.setRowStretch(row, 0)
        for i, card in enumerate(self.cards.values()):
            self._grid.addWidget(card, i // columns, i % columns, Qt.AlignmentFlag.AlignTop)
        self._grid.setRowStretch(len(names) // columns + 1, 1)
