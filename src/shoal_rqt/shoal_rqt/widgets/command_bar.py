"""Always visible: who moves the fleet, the time, and STOP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.messages.preview import Preview
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtWidgets, Signal
from shoal_rqt.requests import Link
from shoal_rqt.theme import restyle
from shoal_rqt.widgets.vehicle_card import label

PHASES = {"gliding": "on the way to the start", "waiting": "getting ready", "running": "running", "done": "done"}
MODES = {
    "hold": ("Hold", "Stay where the setpoint is (F2)"),
    "manual": ("Joystick", "The stick moves the setpoint (F3)"),
    "waypoints": ("Waypoints", "Swim the waypoints that guidance has (F4)"),
    "test": ("Test", "Start the tests chosen under 'Tests' (F5)"),
}


class CommandBar(QtWidgets.QFrame):
    """STOP goes straight to the link: nothing else has to work for it."""

    test_wanted = Signal()
    refused = Signal(str)

    def __init__(self, model: FleetModel, link: Link) -> None:
        super().__init__()
        self.setObjectName("bar")
        self._model, self._link = model, link
        rows = QtWidgets.QVBoxLayout(self)
        rows.setContentsMargins(8, 5, 8, 5)
        rows.setSpacing(2)
        row = QtWidgets.QHBoxLayout()
        row.setSpacing(6)
        rows.addLayout(row)
        self.modes: dict[str, QtWidgets.QPushButton] = {}
        for mode, (text, tip) in MODES.items():
            button = QtWidgets.QPushButton(text)
            button.setCheckable(True)
            button.setToolTip(tip)
            button.setMinimumHeight(34)
            button.clicked.connect(lambda _=False, mode=mode: self.request_mode(mode))
            row.addWidget(button)
            self.modes[mode] = button
        self.time, self.setpoint, self.note = label("", "title"), label("", "quiet"), label("", "quiet")
        for words_label in (self.setpoint, self.note):  # a long one is cut, and does not push STOP off the bar
            words_label.setSizePolicy(QtWidgets.QSizePolicy.Policy.Ignored, QtWidgets.QSizePolicy.Policy.Preferred)
        words = QtWidgets.QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.time)
        words.addWidget(self.setpoint)
        words.addWidget(self.note)
        row.addSpacing(10)
        row.addLayout(words, 1)
        self.recording = label("", "bad")
        row.addWidget(self.recording)
        self.release = QtWidgets.QPushButton("Release")
        self.release.setToolTip("Let the controllers work again (Ctrl+Shift+R)")
        self.release.clicked.connect(self.release_stop)
        self.stop_button = QtWidgets.QPushButton("STOP")
        self.stop_button.setObjectName("stop")
        self.stop_button.setMinimumHeight(46)
        self.stop_button.setToolTip("Zero thrust on every vehicle, at once (Esc)")
        self.stop_button.pressed.connect(self.stop)  # on the press, not on letting go
        row.addWidget(self.release)
        row.addWidget(self.stop_button)
        self.release.setVisible(False)
        self.whole = label("", "bad")  # what had no room beside the buttons, over the whole width
        self.whole.setWordWrap(True)
        self.whole.setVisible(False)
        rows.addWidget(self.whole)

    def stop(self) -> None:
        """Zero thrust. The setpoint holds: one that moved on meanwhile would pull the fleet along after the release."""
        self._link.stop()
        self._link.set_mode("hold")

    def release_stop(self) -> None:
        """The STOP that is shown, and no other; the fleet holds afterwards. A STOP nobody confirmed is withdrawn."""
        counter = self._model.stop.releasable
        if counter is None:
            self._link.withdraw_stop()
            return
        self._link.release(counter)
        self._link.set_mode("hold")

    def request_mode(self, mode: str) -> None:
        """The buttons show the mode that guidance reports, not the one that was asked for."""
        self._show_mode()
        if mode != "hold" and (refusal := self._model.stop.refusal):
            self.refused.emit(refusal)
        elif mode == "test":
            self.test_wanted.emit()
        else:
            self._link.set_mode(mode)

    def _show_mode(self) -> None:
        guided = "/guidance" in self._model.nodes or not self._model.nodes
        for mode, button in self.modes.items():
            button.setChecked(mode == self._model.mode and guided)
            button.setEnabled(guided and (mode != "manual" or self._model.stick or self._model.mode == "manual"))
        stick = "The stick moves the setpoint (F3)" if self._model.stick else "No joystick publishes on /fleet/cmd_vel"
        self.modes["manual"].setToolTip(stick)

    def refresh(self, wall_s: float) -> None:
        """As the model is now."""
        model = self._model
        self._show_mode()
        self.time.setText("no time yet" if model.t_s is None else f"{model.t_s:.1f} s")
        self.setpoint.setText(setpoint_sentence(model.preview))
        self._show_situation(wall_s)
        self._show_what_is_cut()
        self.release.setVisible(model.stop.releasable is not None or model.stop.requested)
        if self.stop_button.property("stopped") != (stopped := "true" if model.stopped else "false"):
            self.stop_button.setProperty("stopped", stopped)
            self.stop_button.setText("STOPPED" if model.stopped else "STOP")
            restyle(self.stop_button)
        status = model.statuses.get("shoal: recorder")
        self.recording.setText("● REC" if status and status.message == "recording" else "")

    def _show_situation(self, wall_s: float) -> None:
        stop = self._model.stop.sentence()
        test = test_sentence(self._model.test)
        # A test stays in sight beside whatever goes wrong during it; what matters more comes first.
        self.note.setText("  ·  ".join(words for words in (stop or self._situation(wall_s), test) if words))
        self.note.setToolTip(self.note.text())
        if self.note.objectName() != (look := "bad" if stop else "quiet"):
            self.note.setObjectName(look)
            restyle(self.note)

    def _show_what_is_cut(self) -> None:
        cut = [at.text() for at in (self.note, self.setpoint)
               if at.fontMetrics().horizontalAdvance(at.text()) > at.width()]  # fmt: skip
        self.whole.setText("  ·  ".join(cut))
        self.whole.setVisible(bool(cut))
        if self.whole.objectName() != self.note.objectName():
            self.whole.setObjectName(self.note.objectName())
            restyle(self.whole)

    def _situation(self, wall_s: float) -> str:
        """The most important thing in a few words; empty when a test is all there is to say."""
        model = self._model
        lost = [v.name for v in model.vehicles.values() if v.is_lost(wall_s)]
        if model.clock_has_stopped(wall_s):
            return "the clock has stopped"
        if lost:
            return f"lost: {', '.join(lost)}"
        if not model.vehicles:
            return "no vehicle found"
        if model.nodes and "/guidance" not in model.nodes:
            return "no guidance: the fleet holds"
        count = len(model.vehicles)
        task = "a task moves the fleet" if model.mode == "task" else ""
        return task or ("" if test_sentence(model.test) else f"{count} vehicle{'s' if count != 1 else ''}")


def test_sentence(status: Mapping[str, Any]) -> str:
    """`circle, running: 31 of 130 s`; empty when no test is on."""
    state, name = status.get("state", "idle"), status.get("test")
    if not name or state not in PHASES:
        return ""
    words = f"{name}, {PHASES[state]}"
    if state == "running":
        return f"{words}: {float(status['t_s']):.0f} of {float(status['duration_s']):.0f} s"
    countdown = status.get("countdown_s")
    return words if countdown is None else f"{words}: starts in {float(countdown):.0f} s"


test_sentence.__test__ = False  # type: ignore[attr-defined]  # pytest collects names that start with test


def setpoint_sentence(preview: Preview | None) -> str:
    """Where the reference is now."""
    if preview is None:
        return ""
    north, east, depth = (float(x) for x in preview.positions_m[0])
    return f"setpoint N {north:.1f}  E {east:.1f}  depth {depth:.1f} m"
