"""Recording on and off, and afterwards the verdict and the report."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtCore, QtGui, QtWidgets
from shoal_rqt.requests import Link, Reply
from shoal_rqt.theme import restyle
from shoal_rqt.widgets.vehicle_card import label

RECORDER = "/recorder"
STATUS = "shoal: recorder"


class RecordingPanel(QtWidgets.QWidget):
    """Where no recorder runs, it starts one, which ends with the window."""

    def __init__(self, model: FleetModel, link: Link) -> None:
        super().__init__()
        self._model, self._link = model, link
        self._since_s: float | None = None
        self._shown_verdicts = -1
        self.folder: Path | None = None  # of the current or the last recording
        self._own: QtCore.QProcess | None = None
        self._report: QtCore.QProcess | None = None
        self.open_page: Callable[[QtCore.QUrl], object] = QtGui.QDesktopServices.openUrl
        self.name = QtWidgets.QLineEdit()
        self.name.setPlaceholderText("name; empty: date and time")
        self.button = QtWidgets.QPushButton("● Record")
        self.button.setObjectName("main")
        self.button.setToolTip("Start or stop recording (Ctrl+R)")
        self.state, self.note = label("", "title", wrap=True), label("", "quiet", wrap=True)
        self.where = label("", "quiet", wrap=True)
        self.report_button = QtWidgets.QPushButton("Make and open the report")
        self.report_button.setEnabled(False)
        self.verdicts = QtWidgets.QListWidget()
        self.verdicts.setWordWrap(True)
        self.verdicts.setAccessibleName("verdicts")
        self.button.clicked.connect(self.toggle)
        self.report_button.clicked.connect(self.make_report)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 4, 0)
        row = QtWidgets.QHBoxLayout()
        row.addWidget(self.name, 1)
        row.addWidget(self.button)
        layout.addLayout(row)
        for widget in (self.state, self.where, self.note, label("Verdicts", "title")):
            layout.addWidget(widget)
        layout.addWidget(self.verdicts, 1)
        layout.addWidget(self.report_button)

    @property
    def recording(self) -> bool:
        """As the recorder itself reports."""
        status = self._model.statuses.get(STATUS)
        return status is not None and status.message == "recording" and RECORDER in self._model.nodes

    # -- what the operator does ---------------------------------------------------------------------------------

    def toggle(self) -> None:
        """On or off."""
        if self.recording:
            self._link.call(f"{RECORDER}/stop", self._stopped)
            return
        if RECORDER not in self._model.nodes:
            self._start_recorder()
        self._show_note("asking the recorder …")
        self._link.set_parameters(RECORDER, {"name": self.name.text().strip()}, self._begin)

    def _begin(self, reply: Reply) -> None:
        if reply.ok:
            self._link.call(f"{RECORDER}/start", self._started)
        else:
            self._show_note(reply.text, bad=True)

    def _started(self, reply: Reply) -> None:
        self._show_note("" if reply.ok else reply.text, bad=not reply.ok)
        if reply.ok:
            self.folder = Path(reply.text)

    def _stopped(self, reply: Reply) -> None:
        self._show_note(reply.text, bad=not reply.ok)
        self.report_button.setEnabled(reply.ok and self.folder is not None)

    def _start_recorder(self) -> None:
        simulated = str(self._model.clock_received_s is not None).lower()
        fleet = ["-p", f"fleet:={self._model.fleet.name}"] if self._model.fleet else []
        self._own = QtCore.QProcess(self)
        arguments = ["-m", "shoal_recorder.recorder", "--ros-args", "-p", f"use_sim_time:={simulated}", *fleet]
        self._own.start(sys.executable, arguments)

    def make_report(self) -> None:
        """With `shoal bag report`, in a process of its own; opens the page when it is done."""
        if self.folder is None or self._report is not None:
            return
        self._show_note("making the report …")
        self._report = QtCore.QProcess(self)
        self._report.setProcessChannelMode(QtCore.QProcess.ProcessChannelMode.MergedChannels)
        self._report.finished.connect(self._reported)
        self._report.start(sys.executable, ["-m", "shoal.cli", "bag", "report", str(self.folder)])

    def _reported(self) -> None:
        assert self._report is not None
        output = bytes(self._report.readAllStandardOutput().data()).decode(errors="replace").strip()
        self._report = None
        pages = [line.removeprefix("report: ") for line in output.splitlines() if line.startswith("report: ")]
        if not pages:
            self._show_note(output.splitlines()[-1] if output else "the report could not be made", bad=True)
            return
        self._show_note(f"report: {pages[-1]}")
        self.open_page(QtCore.QUrl.fromLocalFile(pages[-1]))

    def close_down(self) -> None:
        """A recorder of our own finishes its file."""
        if self._own is not None and self._own.state() != QtCore.QProcess.ProcessState.NotRunning:
            self._own.terminate()
            self._own.waitForFinished(3000)

    # -- what is going on ---------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """As the recorder reports."""
        status, there = self._model.statuses.get(STATUS), RECORDER in self._model.nodes
        if self.recording and status is not None:
            self.folder = Path(status.values.get("folder", "")) if status.values.get("folder") else self.folder
            self._since_s = time.monotonic() if self._since_s is None else self._since_s
            size = _size(self.folder)
            elapsed = time.monotonic() - self._since_s
            self.state.setText(f"recording for {elapsed:.0f} s, {size}{status.values.get('messages', '?')} messages")
        else:
            self._since_s = None
            self.state.setText("not recording" if there else "no recorder is running; 'Record' starts one")
        self.button.setText("■ Stop" if self.recording else "● Record")
        self.where.setText("" if self.folder is None else str(self.folder))
        if len(self._model.verdicts) != self._shown_verdicts:
            self._shown_verdicts = len(self._model.verdicts)
            self.verdicts.clear()
            for verdict in reversed(self._model.verdicts):
                self.verdicts.addItem(("✓ " if verdict.passed else "✗ ") + verdict.sentence())

    def _show_note(self, text: str, bad: bool = False) -> None:
        self.note.setText(text)
        self.note.setObjectName("bad" if bad else "quiet")
        restyle(self.note)


def _size(folder: Path | None) -> str:
    """`1.2 MB, `; nothing when the recorder writes on another computer."""
    if folder is None or not folder.is_dir():
        return ""
    size = sum(f.stat().st_size for f in folder.iterdir() if f.is_file())
    return f"{size / 1e6:.1f} MB, " if size < 1e9 else f"{size / 1e9:.2f} GB, "
