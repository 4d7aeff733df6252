"""Standard tests: which, in which order, how often; the countdown, the run, the verdict."""

from __future__ import annotations

from typing import Any

from shoal.config.files import list_configs
from shoal.guidance.paths import STANDARD_PATHS
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import Qt, QtCore, QtWidgets
from shoal_rqt.requests import Link, Reply
from shoal_rqt.theme import restyle
from shoal_rqt.widgets.files import ask_file
from shoal_rqt.widgets.vehicle_card import label

GUIDANCE = "/guidance"


class TestPanel(QtWidgets.QWidget):
    """Ticked tests run from top to bottom; drag or Alt+arrows change the order."""

    __test__ = False

    def __init__(self, model: FleetModel, link: Link) -> None:
        super().__init__()
        self._model, self._link = model, link
        self._seen_verdicts = 0
        self.tests = QtWidgets.QListWidget()
        self.tests.setDragDropMode(QtWidgets.QAbstractItemView.DragDropMode.InternalMove)
        self.tests.setAccessibleName("tests")
        for name in (*STANDARD_PATHS, *list_configs("paths")):
            self.offer(name, ticked=name == "circle")
        self.repeat = QtWidgets.QSpinBox(minimum=1, maximum=1000, prefix="repeat ", suffix=" ×")
        self.duration = QtWidgets.QDoubleSpinBox(maximum=86400, decimals=0, suffix=" s")
        self.duration.setSpecialValueText("full length")
        self.duration.setToolTip("End each test early")
        self.file_button = QtWidgets.QPushButton("File…")
        self.file_button.setToolTip("Add a waypoint file as a test")
        self.start_button = QtWidgets.QPushButton("Start")
        self.start_button.setObjectName("main")
        self.start_button.setToolTip("Start the ticked tests (F5)")
        self.cancel_button = QtWidgets.QPushButton("Abort")
        self.cancel_button.setToolTip("Abort the tests and hold (F2)")
        self.headline, self.note = label("", "title", wrap=True), label("", "quiet", wrap=True)
        self.bar = QtWidgets.QProgressBar(maximum=1000, textVisible=True)
        self.verdict = label("", "quiet", wrap=True)
        self.file_button.clicked.connect(self._choose_file)
        self.start_button.clicked.connect(self.start)
        self.cancel_button.clicked.connect(lambda: link.call(f"{GUIDANCE}/hold", self._answered))
        self._build()

    def _build(self) -> None:
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 4, 0)
        layout.addWidget(label("Tests, run from top to bottom:", "quiet"))
        self.tests.setMaximumHeight(260)
        layout.addWidget(self.tests, 1)
        row = QtWidgets.QHBoxLayout()
        for widget in (self.file_button, self.repeat, self.duration):
            row.addWidget(widget)
        layout.addLayout(row)
        row = QtWidgets.QHBoxLayout()
        row.addWidget(self.cancel_button)
        row.addWidget(self.start_button, 1)
        layout.addLayout(row)
        for below in (self.headline, self.bar, self.note, self.verdict):
            layout.addWidget(below)
        layout.addStretch(1)

    def offer(self, name: str, ticked: bool = False) -> None:
        """One more in the list."""
        item = QtWidgets.QListWidgetItem(name)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
        self.tests.addItem(item)

    @property
    def chosen(self) -> list[str]:
        """The ticked ones, in order."""
        items = (self.tests.item(i) for i in range(self.tests.count()))
        return [item.text() for item in items if item.checkState() == Qt.CheckState.Checked]

    def start(self) -> None:
        """Hand guidance the list, then start it; either may be refused."""
        if refusal := self._model.stop.refusal:
            self._show_note(refusal, bad=True)
            return
        if not self.chosen:
            self._show_note("tick at least one test", bad=True)
            return
        values = {
            "test": ",".join(self.chosen),
            "repeat": self.repeat.value(),
            "test_duration_s": self.duration.value(),
        }
        self._show_note("asking guidance …")
        self._link.set_parameters(GUIDANCE, values, self._begin)

    def _begin(self, reply: Reply) -> None:
        if reply.ok:
            self._link.call(f"{GUIDANCE}/start_test", self._answered)
        else:
            self._answered(reply)

    def _answered(self, reply: Reply) -> None:
        self._show_note(reply.text, bad=not reply.ok)

    def _choose_file(self) -> None:
        ask_file(self, "A path to run as a test", lambda path: self.offer(str(path), ticked=True))

    # -- what is going on ---------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """As guidance reports."""
        status = self._model.test
        state = status.get("state", "idle")
        self.headline.setText(_headline(status))
        running, countdown = state == "running", status.get("countdown_s")
        self.bar.setVisible(running or state in ("waiting", "gliding"))
        if running:
            self._progress(float(status["t_s"]), float(status["duration_s"]), "%.0f of %.0f s")
        elif countdown is not None:
            ready_s = 5.0
            self._progress(max(0.0, ready_s - float(countdown)), ready_s, f"starts in {float(countdown):.1f} s")
        else:
            self._progress(0.0, 1.0, "on the way to the start" if state == "gliding" else "waiting until all are ready")
        waiting = status.get("waiting_for") or ()
        if state == "waiting" and waiting:
            self._show_note("; ".join(waiting))
        elif state in ("running", "waiting"):
            self._show_note("")
        if len(self._model.verdicts) != self._seen_verdicts:
            self._seen_verdicts = len(self._model.verdicts)
            last = self._model.verdicts[-1]
            self.verdict.setText(last.sentence())
            self.verdict.setObjectName("good" if last.passed else "bad")
            restyle(self.verdict)

    def _progress(self, value: float, most: float, text: str) -> None:
        self.bar.setValue(int(1000 * min(1.0, value / most)) if most else 0)
        self.bar.setFormat(text % (value, most) if "%" in text else text)

    def _show_note(self, text: str, bad: bool = False) -> None:
        self.note.setText(text)
        if self.note.objectName() != (look := "bad" if bad else "quiet"):
            self.note.setObjectName(look)
            restyle(self.note)

    def sizeHint(self) -> QtCore.QSize:
        return QtCore.QSize(340, 400)


def _headline(status: Any) -> str:
    """`circle, 2 of 4, round 1 of 3: running`."""
    state = status.get("state", "idle")
    if state == "idle" or not status.get("test"):
        return "No test is running."
    sequence, rounds = status.get("sequence") or (), int(status.get("rounds") or 1)
    parts = [str(status["test"])]
    parts += [f"{int(status.get('index', 0)) + 1} of {len(sequence)}"] if len(sequence) > 1 else []
    parts += [f"round {status.get('round', 1)} of {rounds}"] if rounds > 1 else []
    words = {"gliding": "on the way to the start", "waiting": "getting ready", "running": "running", "done": "done"}
    return f"{', '.join(parts)}: {words.get(state, state)}"
