"""What happened last, in one line; all of it in a list that opens."""

from __future__ import annotations

from shoal_rqt.model import MAX_EVENTS, Event, FleetModel
from shoal_rqt.qt import Qt, QtGui, QtWidgets
from shoal_rqt.theme import LIGHT, Theme, restyle
from shoal_rqt.widgets.vehicle_card import LEVELS, label


class EventLine(QtWidgets.QWidget):
    """At the bottom of the window."""

    def __init__(self, model: FleetModel) -> None:
        super().__init__()
        self._model, self._theme = model, LIGHT
        self._shown: Event | None = None
        self.last = label("", "quiet")
        self.last.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.last.setSizePolicy(QtWidgets.QSizePolicy.Policy.Ignored, QtWidgets.QSizePolicy.Policy.Preferred)
        self.more = QtWidgets.QToolButton()
        self.more.setText("Events")
        self.more.setCheckable(True)
        self.keys = label("F1 keys", "quiet")
        self.list = QtWidgets.QListWidget()
        self.list.setVisible(False)
        self.list.setMaximumHeight(150)
        self.more.toggled.connect(self.list.setVisible)
        row = QtWidgets.QHBoxLayout()
        row.addWidget(self.last, 1)
        row.addWidget(self.keys)
        row.addWidget(self.more)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(2, 0, 2, 0)
        layout.setSpacing(2)
        layout.addWidget(self.list)
        layout.addLayout(row)

    def apply_theme(self, theme: Theme) -> None:
        """Colours of the list's lines."""
        self._theme, self._shown = theme, None

    def refresh(self) -> None:
        """Only when there is something new."""
        events = list(self._model.events)
        if not events or events[-1] is self._shown:
            return
        known = next((i for i in range(len(events) - 1, -1, -1) if events[i] is self._shown), -1)
        if known < 0:
            self.list.clear()
        new, self._shown = events[known + 1 :], events[-1]
        self.last.setText(_line(events[-1]))
        self.last.setObjectName(LEVELS[min(events[-1].level, 2)] if events[-1].level else "quiet")
        restyle(self.last)
        for event in new:
            item = QtWidgets.QListWidgetItem(_line(event))
            if event.level:
                item.setForeground(QtGui.QColor(self._theme.warn if event.level == 1 else self._theme.bad))
            self.list.addItem(item)
        while self.list.count() > MAX_EVENTS:
            self.list.takeItem(0)
        self.list.scrollToBottom()


def _line(event: Event) -> str:
    return event.text if event.t_s is None else f"{event.t_s:8.1f} s  {event.text}"
