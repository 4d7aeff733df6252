"""Pens of the same width at every zoom, one for each look: pyqtgraph remembers every pen it ever drew with."""

from __future__ import annotations

from functools import lru_cache

from shoal_rqt.qt import Qt, QtGui

NO_BRUSH = QtGui.QBrush(Qt.BrushStyle.NoBrush)


def pen(colour: QtGui.QColor | str, width: float = 1.5, dashed: bool = False, dotted: bool = False) -> QtGui.QPen:
    """Not to be changed: others have the same one."""
    style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.DotLine if dotted else Qt.PenStyle.SolidLine
    return _pen(QtGui.QColor(colour).name(QtGui.QColor.NameFormat.HexArgb), width, style)


@lru_cache(maxsize=512)
def _pen(colour: str, width: float, style: Qt.PenStyle) -> QtGui.QPen:
    made = QtGui.QPen(QtGui.QColor(colour), width, style)
    made.setCosmetic(True)
    return made
