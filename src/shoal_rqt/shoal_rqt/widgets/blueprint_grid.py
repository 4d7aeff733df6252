"""Cells to be clicked: a blueprint from above, the bow up, each cell in the proportions of a vessel's hull."""

from __future__ import annotations

from shoal.platform.blueprint import Cell
from shoal_rqt.blueprint_draft import COLUMNS, ROWS, BlueprintDraft
from shoal_rqt.qt import Qt, QtCore, QtGui, QtWidgets
from shoal_rqt.theme import LIGHT, Theme

WIDTH_PX, HEIGHT_PX = 21, 25  # of a cell
ARROWS = {"Up": (1, 0), "Down": (-1, 0), "Left": (0, -1), "Right": (0, 1)}


def sign_of(kind: str, main: str) -> str:
    """A letter for every vehicle but the usual one."""
    return "" if kind == main else kind.rsplit("_", 1)[-1][:1].upper()


class BlueprintGrid(QtWidgets.QWidget):
    """A click fills or empties a cell, a drag goes on with it; by keyboard the arrows and the space bar."""

    def __init__(self, draft: BlueprintDraft) -> None:
        super().__init__()
        self._draft = draft
        self._filling: bool | None = None  # what the drag does
        self._at: Cell = (ROWS // 2, COLUMNS // 2)  # of the keyboard
        self.setFixedSize(COLUMNS * WIDTH_PX + 1, ROWS * HEIGHT_PX + 1)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("blueprint's cells")
        self.setToolTip("Click or drag: fill or empty cells (arrows and space bar); the bow is up")
        self._theme = LIGHT
        draft.watchers.append(self.update)

    def apply_theme(self, theme: Theme) -> None:
        """Colours of what is painted here."""
        self._theme = theme
        self.update()

    def middle_of(self, cell: Cell) -> QtCore.QPoint:
        """In our own pixels."""
        return self._box(cell).center()

    def _box(self, cell: Cell) -> QtCore.QRect:
        return QtCore.QRect(cell[1] * WIDTH_PX, (ROWS - 1 - cell[0]) * HEIGHT_PX, WIDTH_PX, HEIGHT_PX)

    def _cell(self, event: QtGui.QMouseEvent) -> Cell:
        at = event.position().toPoint() if hasattr(event, "position") else event.pos()
        return ROWS - 1 - at.y() // HEIGHT_PX, at.x() // WIDTH_PX

    # -- mouse and keys -----------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        cell = self._cell(event)
        self._filling = self._draft.cells.get(cell) != self._draft.kind
        self._at = min(max(cell[0], 0), ROWS - 1), min(max(cell[1], 0), COLUMNS - 1)
        self._draft.paint(cell, self._filling)

    def mouseMoveEvent(self, event: QtGui.QMouseEvent) -> None:
        if self._filling is not None:
            self._draft.paint(self._cell(event), self._filling)

    def mouseReleaseEvent(self, event: QtGui.QMouseEvent) -> None:
        self._filling = None

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        step = next((by for name, by in ARROWS.items() if event.key() == getattr(Qt.Key, f"Key_{name}")), None)
        if step is not None:
            self._at = (self._at[0] + step[0]) % ROWS, (self._at[1] + step[1]) % COLUMNS
            self.update()
        elif event.key() == Qt.Key.Key_Space:
            self._draft.paint(self._at, self._draft.cells.get(self._at) != self._draft.kind)
        else:
            super().keyPressEvent(event)  # Esc is the station's

    # -- looks --------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        theme = self._theme
        painter = QtGui.QPainter(self)
        painter.fillRect(self.rect(), QtGui.QColor(theme.water))
        painter.setPen(QtGui.QPen(QtGui.QColor(theme.line), 1))
        for column in range(COLUMNS + 1):
            painter.drawLine(column * WIDTH_PX, 0, column * WIDTH_PX, ROWS * HEIGHT_PX)
        for row in range(ROWS + 1):
            painter.drawLine(0, row * HEIGHT_PX, COLUMNS * WIDTH_PX, row * HEIGHT_PX)
        for cell, kind in self._draft.cells.items():
            box = self._box(cell).adjusted(2, 2, -1, -1)
            painter.fillRect(box, QtGui.QColor(theme.accent))
            painter.setPen(QtGui.QColor(theme.panel))
            # A mark at the bow, so that nobody has to ask which way they head.
            middle, top = box.center().x(), box.top() + 2
            painter.drawLine(middle - 3, top + 3, middle, top)
            painter.drawLine(middle, top, middle + 3, top + 3)
            painter.drawText(
                box.adjusted(0, 5, 0, 0), Qt.AlignmentFlag.AlignCenter, sign_of(kind, self._draft.main_kind)
            )
        if self.hasFocus():
            painter.setPen(QtGui.QPen(QtGui.QColor(theme.ink), 2, Qt.PenStyle.DotLine))
            painter.drawRect(self._box(self._at).adjusted(1, 1, -1, -1))
        painter.end()
