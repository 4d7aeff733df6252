"""Small painted instruments: thrusters as bars, a value on bands of soft and hard limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal_rqt.qt import Qt, QtCore, QtGui, QtWidgets
from shoal_rqt.sight import Keeping
from shoal_rqt.theme import LIGHT, Theme, faded

Array = NDArray[np.float64]


class ThrustBars(QtWidgets.QWidget):
    """One bar per thruster, up forward and down reverse; a filled cap marks one that gives all it has."""

    def __init__(self, parent: QtWidgets.QWidget | None = None) -> None:
        super().__init__(parent)
        self._thrust_N: Array = np.full(8, np.nan)
        self._limit_N = 1.0
        self._saturated: NDArray[np.bool_] = np.zeros(8, dtype=bool)
        self._theme, self._colour = LIGHT, QtGui.QColor(LIGHT.accent)
        self.setMinimumSize(120, 46)
        self.setSizePolicy(QtWidgets.QSizePolicy.Policy.Expanding, QtWidgets.QSizePolicy.Policy.Fixed)

    def show_thrust(
        self, thrust_N: Array, limit_N: float, saturated: NDArray[np.bool_], theme: Theme, colour: QtGui.QColor
    ) -> None:
        """Paint these."""
        self._thrust_N, self._limit_N, self._saturated = thrust_N, limit_N, saturated
        self._theme, self._colour = theme, colour
        full = np.flatnonzero(saturated) + 1
        told = ", ".join(f"{f:.1f}" for f in thrust_N)
        self.setToolTip(
            f"Thrust 1…{len(thrust_N)}: {told} N of ±{limit_N:g} N" + (f"; at the limit: {full}" if len(full) else "")
        )
        self.update()

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        painter = QtGui.QPainter(self)
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        area = QtCore.QRectF(self.rect()).adjusted(1, 3, -1, -3)
        count, middle, half = len(self._thrust_N), area.center().y(), area.height() / 2
        pitch = area.width() / count
        for i, force in enumerate(self._thrust_N.tolist()):
            left, width = area.left() + (i + 0.18) * pitch, 0.64 * pitch
            painter.fillRect(QtCore.QRectF(left, area.top(), width, area.height()), faded(self._theme.line, 0.45))
            if not np.isfinite(force):
                continue
            share = float(np.clip(force / self._limit_N, -1.0, 1.0))
            top = middle - max(share, 0.0) * half
            full = bool(self._saturated[i])
            colour = QtGui.QColor(self._theme.bad) if full else self._colour
            painter.fillRect(QtCore.QRectF(left, top, width, abs(share) * half), colour)
            if full:  # a cap over the full width, so that it does not hang on the colour alone
                edge = area.top() - 2 if share > 0 else area.bottom() - 2
                painter.fillRect(QtCore.QRectF(left - 0.14 * pitch, edge, width + 0.28 * pitch, 4), colour)
        painter.setPen(QtGui.QPen(QtGui.QColor(self._theme.quiet), 1))
        painter.drawLine(QtCore.QPointF(area.left(), middle), QtCore.QPointF(area.right(), middle))
        painter.end()


class BandGauge(QtWidgets.QWidget):
    """A value on a scale with three bands. `rising`: large is bad (an angle); else small is bad (a distance)."""

    def __init__(self, unit: str, digits: int, rising: bool, parent: QtWidgets.QWidget | None = None) -> None:
        super().__init__(parent)
        self._unit, self._digits, self._rising = unit, digits, rising
        self._value: float | None = None
        self._soft, self._hard, self._most = 1.0, 2.0, 3.0
        self._keeping, self._counts, self._theme = Keeping.INSIDE, True, LIGHT
        self.setFixedHeight(max(18, self.fontMetrics().height() + 2))
        self.setMinimumWidth(90)
        self.setSizePolicy(QtWidgets.QSizePolicy.Policy.Expanding, QtWidgets.QSizePolicy.Policy.Fixed)

    def show_value(
        self, value: float | None, soft: float, hard: float, keeping: Keeping, theme: Theme, counts: bool = True
    ) -> None:
        """Paint it. `counts` False: no limit holds, bands are left out."""
        self._value, self._soft, self._hard, self._keeping = value, soft, hard, keeping
        self._most = 1.5 * hard if self._rising else 2.0 * soft
        self._theme, self._counts = theme, counts
        word = "≤" if self._rising else "≥"
        self.setToolTip(f"aimed at {word} {soft:g}{self._unit}, must be {word} {hard:g}{self._unit}")
        self.update()

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        theme, painter = self._theme, QtGui.QPainter(self)
        broken = self._keeping is Keeping.BROKEN
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        font = self.font()
        font.setBold(broken)
        # As wide as the widest text in this font: operators choose larger ones.
        text_px = QtGui.QFontMetrics(font).horizontalAdvance(f"{188.88:.{self._digits}f}{self._unit}") + 4
        area = QtCore.QRectF(text_px, 5, self.width() - text_px - 4, self.height() - 10)
        self._paint_bands(painter, area)
        if self._value is not None and np.isfinite(self._value):
            x = area.left() + area.width() * min(max(self._value / self._most, 0.0), 1.0)
            painter.setPen(QtGui.QPen(QtGui.QColor(theme.panel), 1))
            painter.setBrush(QtGui.QColor(theme.bad if broken else theme.ink))
            painter.drawRoundedRect(QtCore.QRectF(x - 3.5, 1, 7, self.height() - 2), 2, 2)
        text = "–" if self._value is None else f"{self._value:.{self._digits}f}{self._unit}"
        painter.setFont(font)
        painter.setPen(QtGui.QColor(theme.bad if broken else theme.ink))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(
            QtCore.QRectF(0, 0, text_px - 7, self.height()),
            int(flags.value if hasattr(flags, "value") else flags),
            text,
        )
        painter.end()

    def _paint_bands(self, painter: QtGui.QPainter, area: QtCore.QRectF) -> None:
        theme = self._theme
        if not self._counts:
            painter.fillRect(area, faded(theme.line, 0.6))
            return
        edges = [0.0, *sorted((self._soft, self._hard)), self._most]
        colours = [theme.good, theme.warn, theme.bad] if self._rising else [theme.bad, theme.warn, theme.good]
        for low, high, colour in zip(edges[:-1], edges[1:], colours, strict=True):
            left = area.left() + area.width() * low / self._most
            band = QtCore.QRectF(left, area.top(), area.width() * (high - low) / self._most, area.height())
            painter.fillRect(band, faded(colour, 0.55))
            if colour == theme.bad:  # hatched, for eyes that do not tell it from the others
                painter.fillRect(band, QtGui.QBrush(faded(theme.panel, 0.55), Qt.BrushStyle.BDiagPattern))
