"""The water and the link between vehicles."""

from __future__ import annotations

import numpy as np

from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtWidgets
from shoal_rqt.requests import Link, Reply
from shoal_rqt.theme import restyle
from shoal_rqt.water import Water
from shoal_rqt.widgets.choice import Choice
from shoal_rqt.widgets.vehicle_card import label

RELAY = "/relay"


def _number(
    most: float, step: float, suffix: str, low: float | None = None, decimals: int = 2
) -> QtWidgets.QDoubleSpinBox:
    box = QtWidgets.QDoubleSpinBox(decimals=decimals, singleStep=step, suffix=suffix)
    box.setRange(-most if low is None else low, most)
    return box


class EnvironmentPanel(QtWidgets.QWidget):
    """Nothing is sent before 'Apply'."""

    def __init__(self, model: FleetModel, link: Link) -> None:
        super().__init__()
        self._model, self._link = model, link
        self.current = [_number(5.0, 0.05, " m/s") for _ in range(3)]
        self.waves = [_number(5.0, 0.05, " m/s", low=0.0) for _ in range(3)]
        self.period = _number(600.0, 1.0, " s", low=0.1, decimals=1)
        self.period.setValue(10.0)
        self.shape = Choice()
        self.shape.addItems(["sine", "square"])
        self.apply_button = QtWidgets.QPushButton("Apply to the water")
        self.still_button = QtWidgets.QPushButton("Still water")
        self.now = label("", "quiet", wrap=True)
        self.loss = _number(100.0, 5.0, " %", low=0.0, decimals=0)
        self.delay, self.jitter = (_number(60.0, 0.1, " s", low=0.0) for _ in range(2))
        self.line_of_sight = QtWidgets.QCheckBox("only in line of sight")
        self.link_button = QtWidgets.QPushButton("Apply to the link")
        self.link_note, self.note = label("", "quiet", wrap=True), label("", "quiet", wrap=True)
        self.apply_button.clicked.connect(self.apply_water)
        self.still_button.clicked.connect(self.still)
        self.link_button.clicked.connect(self.apply_link)
        self._build()

    def _build(self) -> None:
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 4, 0)
        water = QtWidgets.QGridLayout()
        for column, name in enumerate(("north x", "east y", "down z")):
            water.addWidget(label(name, "quiet"), 0, column + 1)
            water.addWidget(self.current[column], 1, column + 1)
            water.addWidget(self.waves[column], 2, column + 1)
        water.addWidget(label("current"), 1, 0)
        water.addWidget(label("waves ±"), 2, 0)
        water.addWidget(label("period"), 3, 0)
        water.addWidget(self.period, 3, 1)
        water.addWidget(self.shape, 3, 2)
        row = QtWidgets.QHBoxLayout()
        row.addWidget(self.still_button)
        row.addWidget(self.apply_button, 1)
        links = QtWidgets.QFormLayout()
        links.addRow("messages lost", self.loss)
        links.addRow("delay", self.delay)
        links.addRow("jitter, up to", self.jitter)
        links.addRow("", self.line_of_sight)
        for part in (label("Water", "title"), water, row, self.now, label("Link between vehicles", "title"), links):
            layout.addWidget(part) if isinstance(part, QtWidgets.QWidget) else layout.addLayout(part)
        for widget in (self.link_button, self.link_note, self.note):
            layout.addWidget(widget)
        layout.addStretch(1)

    @property
    def water(self) -> Water:
        """As entered."""
        c, w = [box.value() for box in self.current], [box.value() for box in self.waves]
        square = self.shape.currentText() == "square"
        return Water((c[0], c[1], c[2]), (w[0], w[1], w[2]), self.period.value(), "square" if square else "sine")

    def apply_water(self) -> None:
        """To the plant."""
        if problem := self.water.problem():
            self._show_note(problem, bad=True)
            return
        self._link.set_water(self.water)
        self._show_note("waves come from this window: they end when it closes" if self.water.moving else "")

    def still(self) -> None:
        """No current, no waves."""
        for box in (*self.current, *self.waves):
            box.setValue(0.0)
        self.apply_water()

    def apply_link(self) -> None:
        """To the relay."""
        values = {
            "loss": self.loss.value() / 100.0, "delay_s": self.delay.value(), "jitter_s": self.jitter.value(),
            "line_of_sight": self.line_of_sight.isChecked(),
        }  # fmt: skip
        self._link.set_parameters(RELAY, values, self._link_answered)

    def _link_answered(self, reply: Reply) -> None:
        self._show_note("link: " + (reply.text or "set"), bad=not reply.ok)

    def refresh(self) -> None:
        """As it is now."""
        current, status = self._model.current_mps, self._model.statuses.get("shoal: relay")
        if current is not None:
            parts = ", ".join(f"{v:+.2f}" for v in current)
            self.now.setText(f"the water now: {parts} m/s ({float(np.linalg.norm(current)):.2f} m/s)")
        there = RELAY in self._model.nodes or not self._model.nodes
        self.link_button.setEnabled(there)
        passed = status.values.get("passed", "") if status else ""
        self.link_note.setText(
            passed if there else "No relay: vehicles receive each other directly. Start with `shoal up --relay`."
        )

    def _show_note(self, text: str, bad: bool = False) -> None:
        self.note.setText(text)
        self.note.setObjectName("bad" if bad else "quiet")
        restyle(self.note)
