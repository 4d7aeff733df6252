"""All tabs in sight: in one row where they fit, else in two. A tab bar would scroll some of them away."""

from __future__ import annotations

from functools import partial

from shoal_rqt.qt import QtGui, QtWidgets


class TabRows(QtWidgets.QWidget):
    """Stands above a tab widget, in place of its own bar."""

    def __init__(self, tabs: QtWidgets.QTabWidget) -> None:
        super().__init__()
        self._tabs = tabs
        tabs.tabBar().hide()
        self._layout = QtWidgets.QGridLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._columns = 0
        self.buttons: list[QtWidgets.QPushButton] = []
        for index in range(tabs.count()):
            made = QtWidgets.QPushButton(tabs.tabText(index))
            made.setObjectName("tab")
            made.setToolTip(tabs.tabToolTip(index))
            made.setCheckable(True)
            made.setAutoExclusive(True)
            made.setChecked(index == tabs.currentIndex())
            made.setMinimumWidth(30)
            made.clicked.connect(partial(self._chosen, index))
            self.buttons.append(made)
        tabs.currentChanged.connect(lambda index: self.buttons[index].setChecked(True))
        self._arrange()

    def _chosen(self, index: int, _: bool = False) -> None:
        self._tabs.setCurrentIndex(index)

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        widest = max(made.sizeHint().width() for made in self.buttons)
        count = len(self.buttons)
        columns = count if widest * count <= self.width() else (count + 1) // 2
        if columns == self._columns:
            return
        self._columns = columns
        for index, made in enumerate(self.buttons):
            self._layout.addWidget(made, index // columns, index % columns)
