"""Always in sight: who moves the fleet, what time it is, and STOP."""

from __future__ import annotations

from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtWidgets, Signal
from shoal_rqt.requests import Link
from shoal_rqt.theme import restyle
from shoal_rqt.widgets.vehicle_card import label

MODES = {
    "hold": ("Hold", "Stay where the setpoint is (F2)"),
    "manual": ("Joystick", "The stick moves the setpoint (F3)"),
    "waypoints": ("Waypoints", "Swim the waypoints that guidance has (F4)"),
    "test": ("Test", "Start the tests chosen under 'Tests' (F5)"),
}


class CommandBar(QtWidgets.QFrame):
    """STOP goes straight to the link: nothing else has to work for it."""

    test_wanted = Signal()

    def __init__(self, model: FleetModel, link: Link) -> None:
        super().__init__()
        self.setObjectName("bar")
        self._model, self._link = model, link
        row = QtWidgets.QHBoxLayout(self)
        row.setContentsMargins(8, 5, 8, 5)
        self.modes: dict[str, QtWidgets.QPushButton] = {}
        for mode, (text, tip) in MODES.items():
            button = QtWidgets.QPushButton(text)
            button.setCheckable(True)
            button.setToolTip(tip)
            button.setMinimumHeight(34)
            button.clicked.connect(lambda _=False, mode=mode: self.ask(mode))
            row.addWidget(button)
            self.modes[mode] = button
        self.time, self.note = label("", "title"), label("", "quiet")
        words = QtWidgets.QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.time)
        words.addWidget(self.note)
        row.addSpacing(10)
        row.addLayout(words, 1)
        self.recording = label("", "bad")
        row.addWidget(self.recording)
        self.release = QtWidgets.QPushButton("Release")
        self.release.setToolTip("Let the controllers work again (Ctrl+Shift+R)")
        self.release.clicked.connect(lambda: self.stop(False))
        self.stop_button = QtWidgets.QPushButton("STOP")
        self.stop_button.setObjectName("stop")
        self.stop_button.setMinimumHeight(46)
        self.stop_button.setToolTip("Zero thrust on every vehicle, at once (Esc)")
        self.stop_button.pressed.connect(lambda: self.stop(True))  # on the press, not on letting go
        row.addWidget(self.release)
        row.addWidget(self.stop_button)
        self.release.setVisible(False)

    def stop(self, stopped: bool) -> None:
        """Stop, or let go again. Afterwards the fleet holds: a setpoint that went on meanwhile would pull it along."""
        self._link.stop(stopped)
        self._link.set_mode("hold")

    def ask(self, mode: str) -> None:
        """The buttons show what guidance says, not what was asked."""
        self._show_mode()
        if mode == "test":
            self.test_wanted.emit()
        else:
            self._link.set_mode(mode)

    def _show_mode(self) -> None:
        guided = "/guidance" in self._model.nodes or not self._model.nodes
        for mode, button in self.modes.items():
            button.setChecked(mode == self._model.mode and guided)
            button.setEnabled(guided and (mode != "manual" or self._model.stick or self._model.mode == "manual"))
        stick = "The stick moves the setpoint (F3)" if self._model.stick else "No joystick heard on /fleet/cmd_vel"
        self.modes["manual"].setToolTip(stick)

    def refresh(self, wall_s: float) -> None:
        """As the model is now."""
        model = self._model
        self._show_mode()
        self.time.setText("no time yet" if model.t_s is None else f"{model.t_s:.1f} s")
        self.note.setText(self._situation(wall_s))
        self.release.setVisible(model.stopped)
        if self.stop_button.property("stopped") != (stopped := "true" if model.stopped else "false"):
            self.stop_button.setProperty("stopped", stopped)
            self.stop_button.setText("STOPPED" if model.stopped else "STOP")
            restyle(self.stop_button)
        status = model.statuses.get("shoal: recorder")
        self.recording.setText("● REC" if status and status.message == "recording" else "")

    def _situation(self, wall_s: float) -> str:
        """The most important thing in a few words."""
        model = self._model
        lost = [v.name for v in model.vehicles.values() if v.lost(wall_s)]
        if model.clock_stands(wall_s):
            return "the clock stands"
        if lost:
            return f"lost: {', '.join(lost)}"
        if not model.vehicles:
            return "no vehicle heard"
        if model.nodes and "/guidance" not in model.nodes:
            return "no guidance: the fleet holds"
        return f"{len(model.vehicles)} vehicles"
