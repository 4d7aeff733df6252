"""A combo box with an arrow: a style sheet that gives it its colours takes the arrow away."""

from __future__ import annotations

from shoal_rqt.qt import Qt, QtGui, QtWidgets


class Choice(QtWidgets.QComboBox):
    """As any other."""

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QtGui.QPainter(self)
        painter.setPen(self.palette().color(QtGui.QPalette.ColorRole.Text))
        painter.drawText(
            self.rect().adjusted(0, 0, -7, 0), Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, "▾"
        )
        painter.end()
