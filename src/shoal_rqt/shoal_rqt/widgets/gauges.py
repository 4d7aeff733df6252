"""Small painted instruments: thrusters as bars, a value on bands of soft and hard limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.messages.health import Severity
from shoal_rqt.qt import Qt, QtCore, QtGui, QtWidgets
from shoal_rqt.theme import LIGHT, Theme, faded
from shoal_rqt.vehicle_state import VehicleState

Array = NDArray[np.float64]
MIN_BARS = 4  # with fewer thrusters than that, bars do not get wider


class ThrustBars(QtWidgets.QWidget):
    """One bar per thruster, up forward and down reverse; a filled cap marks one that gives all it has."""

    def __init__(self, parent: QtWidgets.QWidget | None = None) -> None:
        super().__init__(parent)
        self._share: Array = np.zeros(0)
        self._saturated: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._theme, self._colour = LIGHT, QtGui.QColor(LIGHT.accent)
        self.setMinimumSize(120, 46)
        self.setSizePolicy(QtWidgets.QSizePolicy.Policy.Expanding, QtWidgets.QSizePolicy.Policy.Fixed)

    def show_thrust(self, vehicle: VehicleState, theme: Theme, colour: QtGui.QColor) -> None:
        """However many thrusters it has."""
        self._share, self._saturated = vehicle.thrust_share, vehicle.saturated
        self._theme, self._colour = theme, colour
        full = ", ".join(str(i) for i in np.flatnonzero(self._saturated) + 1)
        forces = ", ".join(f"{f:.1f}" for f in vehicle.thrust_N)
        self.setToolTip(
            f"Thrust 1…{len(vehicle.thrust_N)}: {forces} N" + (f"; at the limit: {full}" if full else "")
            if len(vehicle.thrust_N)
            else "No thruster found yet"
        )
        self.update()

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        painter = QtGui.QPainter(self)
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        area = QtCore.QRectF(self.rect()).adjusted(1, 3, -1, -3)
        middle, half = area.center().y(), area.height() / 2
        pitch = area.width() / max(len(self._share), MIN_BARS)
        for i, share in enumerate(np.clip(self._share, -1.0, 1.0).tolist()):
            left, width = area.left() + (i + 0.18) * pitch, 0.64 * pitch
            painter.fillRect(QtCore.QRectF(left, area.top(), width, area.height()), faded(self._theme.line, 0.45))
            if not np.isfinite(share):
                continue
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
        self._severity, self._counts, self._theme = Severity.OK, True, LIGHT
        self.setFixedHeight(max(18, self.fontMetrics().height() + 2))
        self.setMinimumWidth(90)
        self.setSizePolicy(QtWidgets.QSizePolicy.Policy.Expanding, QtWidgets.QSizePolicy.Policy.Fixed)

    def show_value(
        self, value: float | None, soft: float, hard: float, severity: Severity, theme: Theme, counts: bool = True
    ) -> None:
        """Paint it. `counts` False: no limit holds, bands are left out."""
        self._value, self._soft, self._hard, self._severity = value, soft, hard, severity
        self._most = 1.5 * hard if self._rising else 2.0 * soft
        self._theme, self._counts = theme, counts
        sign = "≤" if self._rising else "≥"
        self.setToolTip(f"aim {sign} {soft:g}{self._unit}, limit {sign} {hard:g}{self._unit}")
        self.update()

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        theme, painter = self._theme, QtGui.QPainter(self)
        broken = self._severity is Severity.ERROR
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
            if colour == theme.bad:  # hatched, for those who cannot tell its colour from the others
                painter.fillRect(band, QtGui.QBrush(faded(theme.panel, 0.55), Qt.BrushStyle.BDiagPattern))
