"""Asking for a file without locking the window: a modal dialog would stand between the operator and STOP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shoal_rqt.qt import Qt, QtWidgets


def ask_file(
    parent: QtWidgets.QWidget, title: str, chosen: Callable[[Path], object], save_as: str = ""
) -> QtWidgets.QFileDialog:
    """`chosen` is called if and when one is; `save_as` proposes a name for a new file."""
    dialog = QtWidgets.QFileDialog(parent, title, save_as, "YAML files (*.yaml *.yml)")
    if save_as:
        dialog.setAcceptMode(QtWidgets.QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("yaml")
        dialog.selectFile(save_as)
    else:
        dialog.setFileMode(QtWidgets.QFileDialog.FileMode.ExistingFile)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setModal(False)
    dialog.fileSelected.connect(lambda name: chosen(Path(name)))
    dialog.show()
    return dialog
