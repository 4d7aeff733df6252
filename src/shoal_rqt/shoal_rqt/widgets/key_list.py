"""All shortcuts, over the view. Not a window of its own: Esc must stay the station's, which closes this first."""

from __future__ import annotations

from collections.abc import Mapping

from shoal_rqt.qt import QtWidgets
from shoal_rqt.widgets.vehicle_card import label


class KeyList(QtWidgets.QFrame):
    """F1 shows and hides it."""

    def __init__(self, shortcuts: Mapping[str, str], parent: QtWidgets.QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self.setObjectName("card")
        grid = QtWidgets.QGridLayout(self)
        grid.setContentsMargins(18, 14, 18, 14)
        grid.setHorizontalSpacing(18)
        for row, (key, words) in enumerate(shortcuts.items()):
            grid.addWidget(label(key, "title"), row % 11, 2 * (row // 11))
            grid.addWidget(label(words), row % 11, 2 * (row // 11) + 1)
        self.hide()

    def toggle(self) -> None:
        """In the middle of the window."""
        self.adjustSize()
        room = self._room.rect()
        self.move((room.width() - self.width()) // 2, (room.height() - self.height()) // 2)
        self.setVisible(not self.isVisible())
        self.raise_()
