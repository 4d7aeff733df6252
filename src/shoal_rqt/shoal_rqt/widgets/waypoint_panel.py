"""Waypoints as numbers: type, reorder, load, save, send."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from shoal.errors import ShoalError
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import Qt, QtWidgets
from shoal_rqt.requests import Link
from shoal_rqt.theme import restyle
from shoal_rqt.waypoint_list import DEFAULT_SPEED_MPS, Mark, WaypointList
from shoal_rqt.widgets.files import ask_file
from shoal_rqt.widgets.vehicle_card import label

COLUMNS = ("x north (m)", "y east (m)", "z depth (m)", "speed (m/s)")
REACHED_M = 0.02


class WaypointPanel(QtWidgets.QWidget):
    """The table is the list; a cell that makes no sense keeps its old value and shows why."""

    def __init__(self, model: FleetModel, waypoints: WaypointList, link: Link) -> None:
        super().__init__()
        self._model, self._list, self._link = model, waypoints, link
        self._filling = False
        self.table = QtWidgets.QTableWidget(0, len(COLUMNS))
        self.table.setHorizontalHeaderLabels(COLUMNS)
        self.table.horizontalHeader().setSectionResizeMode(QtWidgets.QHeaderView.ResizeMode.Stretch)
        self.table.verticalHeader().setDefaultSectionSize(26)
        self.table.setSelectionBehavior(QtWidgets.QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setTabKeyNavigation(False)  # Tab leaves the table; the arrows move inside
        self.table.itemChanged.connect(self._edited)
        self.fields = {name: self._field(name) for name in ("x", "y", "z", "speed")}
        self.add_button = QtWidgets.QPushButton("Add")
        self.add_button.clicked.connect(self.add_typed)
        self.go_button = QtWidgets.QPushButton("Go")
        self.go_button.setObjectName("main")
        self.go_button.setToolTip("Send the waypoints to the fleet (Ctrl+Return)")
        self.go_button.clicked.connect(self.go)
        self.note = label("", "quiet", wrap=True)
        self._build()
        waypoints.watchers.append(self._fill)
        self._fill()

    def _field(self, name: str) -> QtWidgets.QDoubleSpinBox:
        box = QtWidgets.QDoubleSpinBox(minimum=-1000, maximum=1000, decimals=2, singleStep=0.5)
        box.setPrefix(f"{name} ")
        if name == "z":
            box.setRange(-5, 1000)
            box.setValue(5.0)
        elif name == "speed":
            box.setRange(0.01, 5.0)
            box.setSingleStep(0.05)
            box.setValue(DEFAULT_SPEED_MPS)
            box.setPrefix("")
            box.setSuffix(" m/s")
        box.setAccessibleName(f"waypoint {name}")
        box.setMinimumWidth(64)
        return box

    def _build(self) -> None:
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 4, 0)
        typed = QtWidgets.QHBoxLayout()
        typed.setSpacing(4)
        for box in self.fields.values():
            typed.addWidget(box, 1)
        typed.addWidget(self.add_button)
        layout.addLayout(typed)
        layout.addWidget(self.table, 1)
        tools = QtWidgets.QHBoxLayout()
        tools.setSpacing(4)
        for text, tip, act in (
            ("↑", "Earlier", lambda: self._move(-1)), ("↓", "Later", lambda: self._move(1)),
            ("Remove", "Take out what is selected (Delete)", self.remove_selected),
            ("Clear", "Take all out", self._list.clear), ("Load…", "A waypoint file (Ctrl+O)", self.load_dialog),
            ("Save…", "As a waypoint file (Ctrl+S)", self.save_dialog),
        ):  # fmt: skip
            button = QtWidgets.QPushButton(text)
            button.setToolTip(tip)
            button.clicked.connect(lambda _=False, act=act: act())
            tools.addWidget(button)
        tools.addStretch(1)
        layout.addLayout(tools)
        layout.addWidget(self.note)
        last = QtWidgets.QHBoxLayout()
        self.clear_button = QtWidgets.QPushButton("Clear the fleet's")
        self.clear_button.setToolTip("The fleet brakes and stays (guidance/clear)")
        self.clear_button.clicked.connect(
            lambda: self._link.call("/guidance/clear", lambda reply: self._show_note(reply.text, not reply.ok))
        )
        last.addWidget(self.clear_button)
        last.addWidget(self.go_button, 1)
        layout.addLayout(last)

    # -- what the operator does ---------------------------------------------------------------------------------

    def add_typed(self) -> None:
        """What stands in the fields."""
        x, y, z, speed = (box.value() for box in self.fields.values())
        self._list.add((x, y, z), speed)

    def go(self) -> None:
        """To the fleet."""
        if problem := self._model.stop.refusal or self._list.problem():
            self._show_note(problem, bad=True)
            return
        if self._model.mode not in ("hold", "waypoints", ""):
            self._link.set_mode("hold")  # whoever has the reference gives it back
        start = self._model.preview.positions_m[0] if self._model.preview is not None else None
        self._link.send_waypoints(self._list.marks, start)
        self._list.mark_sent()

    def remove_selected(self) -> None:
        """The selected rows."""
        for row in sorted({index.row() for index in self.table.selectedIndexes()}, reverse=True):
            self._list.remove(row)

    def _move(self, by: int) -> None:
        row = self.table.currentRow()
        if 0 <= row < len(self._list.marks):
            self.table.selectRow(self._list.swap(row, by))

    def load_dialog(self) -> None:
        """Ask for a file."""
        ask_file(self, "Load waypoints", self.load)

    def save_dialog(self) -> None:
        """Ask for a file."""
        ask_file(self, "Save waypoints", self.save, save_as="waypoints.yaml")

    def load(self, path: Path) -> None:
        """Show why not, if it fails."""
        try:
            self._list.load(path)
            self._show_note(f"{len(self._list.marks)} waypoints from {path.name}")
        except ShoalError as error:
            self._show_note(str(error), bad=True)

    def save(self, path: Path) -> None:
        """Show why not, if it fails."""
        try:
            self._list.save(path)
            self._show_note(f"saved as {path.name}")
        except ShoalError as error:
            self._show_note(str(error), bad=True)

    # -- the table ----------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        self._filling = True
        self.table.setRowCount(len(self._list.marks))
        for row, mark in enumerate(self._list.marks):
            for column, value in enumerate((*mark.position_m, mark.speed_mps)):
                item = QtWidgets.QTableWidgetItem(f"{value:g}")
                item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.table.setItem(row, column, item)
        self._filling = False
        self.go_button.setEnabled(bool(self._list.marks))
        self.go_button.setText("Go: send changes" if self._list.unsent and self._list.sent else "Go")

    def _edited(self, item: QtWidgets.QTableWidgetItem) -> None:
        if self._filling:
            return
        row, column = item.row(), item.column()
        mark = self._list.marks[row]
        try:
            value = float(item.text().replace(",", "."))
            if not np.isfinite(value) or (column == 3 and not 0 < value <= 5):
                raise ValueError
        except ValueError:
            self._show_note(
                f"{COLUMNS[column]}: '{item.text()}'; expected a number{' above 0' * (column == 3)}", bad=True
            )
            self._fill()
            return
        if column == 3:
            changed: Mark = replace(mark, speed_mps=value)
        else:
            place = list(mark.position_m)
            place[column] = value
            changed = replace(mark, position_m=(place[0], place[1], place[2]))
        self._show_note("")
        self._list.change(row, changed)

    def refresh(self) -> None:
        """Passed ones get a tick."""
        ahead, sent = self._model.queue_m, self._list.sent or ()
        left = 0
        for row, mark in enumerate(self._list.marks):
            waiting = bool(len(ahead)) and bool(
                (np.linalg.norm(ahead - np.array(mark.position_m), axis=1) < REACHED_M).any()
            )
            left += waiting
            header = f"{row + 1}" + ("" if waiting or mark not in sent else " ✓")
            known = self.table.verticalHeaderItem(row)
            if known is None or known.text() != header:
                self.table.setVerticalHeaderItem(row, QtWidgets.QTableWidgetItem(header))
        if self._model.mode == "waypoints" and not self.note.text():
            self._show_note("")

    def _show_note(self, text: str, bad: bool = False) -> None:
        self.note.setText(text)
        self.note.setObjectName("bad" if bad else "quiet")
        restyle(self.note)
