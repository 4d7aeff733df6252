"""Qt from whoever has it: rqt's python_qt_binding, else PySide6, else PyQt5. All import Qt from here.

pyqtgraph takes the binding that is already imported, so it has to be imported after this module.
Enums are written in full (`Qt.AlignmentFlag.AlignLeft`), which all three understand.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from shoal.errors import ShoalError

CANDIDATES = ("python_qt_binding", "PySide6", "PyQt5")

if TYPE_CHECKING:
    from PySide6 import QtCore, QtGui, QtWidgets
    from PySide6.QtCore import Signal
    from PySide6.QtGui import QShortcut

    binding = "PySide6"
else:

    def _load():
        reasons = []
        for name in CANDIDATES:
            try:
                return name, *(import_module(f"{name}.{part}") for part in ("QtCore", "QtGui", "QtWidgets"))
            except ImportError as error:
                reasons.append(f"{name}: {error}")
        raise ShoalError(f"Qt: none can be imported ({'; '.join(reasons)}); expected one of: {', '.join(CANDIDATES)}")

    binding, QtCore, QtGui, QtWidgets = _load()
    Signal = getattr(QtCore, "Signal", None) or QtCore.pyqtSignal
    QShortcut = getattr(QtGui, "QShortcut", None) or QtWidgets.QShortcut  # moved in Qt 6

Qt = QtCore.Qt

__all__ = ["QShortcut", "Qt", "QtCore", "QtGui", "QtWidgets", "Signal", "application", "binding"]


_kept: list[QtWidgets.QApplication] = []  # PyQt lets go of an application that nobody holds


def application() -> QtWidgets.QApplication:
    """The one there is, or a new one."""
    found = QtWidgets.QApplication.instance()
    if isinstance(found, QtWidgets.QApplication):
        return found
    made = QtWidgets.QApplication(["shoal"])
    _kept.append(made)
    made.setApplicationName("shoal")
    made.setApplicationDisplayName("Shoal")
    return made
