"""Buttons, and widgets side by side."""

from __future__ import annotations

from shoal_rqt.qt import QtWidgets


def button(text: str, tip: str, main: bool = False) -> QtWidgets.QPushButton:
    """With a tip; the main one of its panel stands out."""
    made = QtWidgets.QPushButton(text)
    made.setToolTip(tip)
    if main:
        made.setObjectName("main")
    return made


def row(*widgets: QtWidgets.QWidget) -> QtWidgets.QHBoxLayout:
    """From left to right."""
    made = QtWidgets.QHBoxLayout()
    made.setSpacing(4)
    for widget in widgets:
        made.addWidget(widget)
    return made
