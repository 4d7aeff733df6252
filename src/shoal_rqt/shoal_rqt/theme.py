"""Colours and sizes, light and dark. All signal colours are Okabe and Ito's, which colour-blind people tell apart.

Colour is never the only cue: violated limits are also written, thick or hatched.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal_rqt.qt import QtGui, QtWidgets

# Okabe–Ito without its vermillion (#d55e00): that, darker or lighter with the theme, means 'violated' and nothing else.
BLUE, GREEN, PURPLE, SKY, ORANGE, YELLOW = "#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#f0e442"


@dataclass(frozen=True)
class Theme:
    """One look."""

    name: str
    window: str
    panel: str  # cards, lists, entry fields
    ink: str
    quiet: str  # second-rank text
    line: str  # edges, grids
    water: str  # background of the views
    accent: str
    good: str
    warn: str
    bad: str
    reference: str
    vehicles: tuple[str, ...]

    def vehicle(self, index: int) -> QtGui.QColor:
        """Of the vehicle with that place in the fleet."""
        return QtGui.QColor(self.vehicles[index % len(self.vehicles)])


LIGHT = Theme(
    name="light", window="#f2f5f7", panel="#ffffff", ink="#1f2d3a", quiet="#5d6c7a", line="#cfd8df", water="#fbfdfe",
    accent=BLUE, good=GREEN, warn="#b87a00", bad="#c44900", reference="#3a4753",
    vehicles=(BLUE, GREEN, PURPLE, ORANGE, SKY, "#7a5c00", "#7f4fa0", "#005f45", "#004a75", "#8c4a6b"),
)  # fmt: skip
DARK = Theme(
    name="dark", window="#161d24", panel="#1f2831", ink="#e6edf3", quiet="#9aa9b7", line="#35424e", water="#10161c",
    accent=SKY, good="#2ec79a", warn=ORANGE, bad="#ff7a33", reference="#d7e0e8",
    vehicles=(SKY, "#2ec79a", PURPLE, ORANGE, YELLOW, "#4f7fd8", "#b39ddb", "#80cbc4", "#90b8f0", "#e0a0c0"),
)  # fmt: skip
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def faded(colour: str | QtGui.QColor, share: float) -> QtGui.QColor:
    """The same, partly transparent."""
    made = QtGui.QColor(colour)
    made.setAlphaF(share)
    return made


def palette(theme: Theme) -> QtGui.QPalette:
    """For widgets that the style sheet does not cover."""
    role, made = QtGui.QPalette.ColorRole, QtGui.QPalette()
    pairs = {
        role.Window: theme.window, role.Base: theme.panel, role.AlternateBase: theme.window, role.Button: theme.panel,
        role.Text: theme.ink, role.WindowText: theme.ink, role.ButtonText: theme.ink, role.ToolTipBase: theme.panel,
        role.ToolTipText: theme.ink, role.Highlight: theme.accent, role.HighlightedText: theme.panel,
        role.PlaceholderText: theme.quiet, role.Mid: theme.line, role.Dark: theme.line, role.Light: theme.panel,
    }  # fmt: skip
    for key, colour in pairs.items():
        made.setColor(key, QtGui.QColor(colour))
    for key in (role.Text, role.WindowText, role.ButtonText):
        made.setColor(QtGui.QPalette.ColorGroup.Disabled, key, faded(theme.ink, 0.4))
    return made


def style_sheet(theme: Theme) -> str:
    """Flat and quiet; only STOP is loud."""
    t = theme
    return f"""
    QWidget {{ color: {t.ink}; }}
    #station {{ background: {t.window}; }}
    QToolTip {{ color: {t.ink}; background: {t.panel}; border: 1px solid {t.line}; }}
    #card, #bar {{ background: {t.panel}; border: 1px solid {t.line}; border-radius: 6px; }}
    #card[alarm="true"] {{ border: 2px solid {t.bad}; }}
    #quiet {{ color: {t.quiet}; }}
    #title {{ font-weight: 600; }}
    #good {{ color: {t.good}; }} #warn {{ color: {t.warn}; font-weight: 600; }}
    #bad {{ color: {t.bad}; font-weight: 700; }}
    QPushButton, QToolButton {{ background: {t.panel}; border: 1px solid {t.line}; border-radius: 5px;
        padding: 4px 10px; }}
    QToolButton {{ padding: 4px 6px; }}
    QPushButton:hover, QToolButton:hover {{ border-color: {t.accent}; }}
    QPushButton:focus, QToolButton:focus, QLineEdit:focus {{ border: 2px solid {t.accent}; }}
    QPushButton:checked, QToolButton:checked {{ background: {t.accent}; color: {t.panel}; border-color: {t.accent}; }}
    QPushButton:disabled, QToolButton:disabled {{ color: {t.quiet}; border-style: dashed; }}
    QPushButton#stop {{ background: #b3261e; color: white; font-weight: 800; font-size: 17pt; border: 2px solid #7d1a15;
        padding: 4px 26px; letter-spacing: 2px; }}
    QPushButton#stop:hover, QPushButton#stop:focus {{ border: 3px solid {t.ink}; }}
    QPushButton#stop[stopped="true"] {{ background: {YELLOW}; color: #1f2d3a; border-color: #b3261e; }}
    QPushButton#main {{ background: {t.accent}; color: {t.panel}; border-color: {t.accent}; font-weight: 600; }}
    QPushButton#main:disabled {{ background: {t.panel}; color: {t.quiet}; }}
    QLineEdit, QListWidget, QTableWidget, QTreeWidget
        {{ background: {t.panel}; border: 1px solid {t.line}; border-radius: 4px; padding: 2px; }}
    QAbstractSpinBox, QComboBox {{ background: {t.panel}; border: 1px solid {t.line}; border-radius: 4px;
        padding: 3px 6px; selection-background-color: {t.accent}; selection-color: {t.panel}; }}
    QAbstractSpinBox:focus, QComboBox:focus {{ border: 2px solid {t.accent}; padding: 2px 5px; }}
    QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ width: 0; border: none; }}
    QAbstractSpinBox QLineEdit {{ border: none; padding: 0 0 0 5px; background: transparent; }}
    QComboBox::drop-down {{ border: none; width: 20px; }}
    QComboBox::down-arrow {{ image: none; }}
    QComboBox QAbstractItemView {{ background: {t.panel}; selection-background-color: {t.accent};
        selection-color: {t.panel}; }}
    QHeaderView, QTableCornerButton::section {{ background: {t.panel}; border: none; }}
    QHeaderView::section {{ background: {t.window}; color: {t.quiet}; border: none; padding: 3px 5px; }}
    QTabWidget::pane {{ border: none; top: 2px; }}
    QPushButton#tab {{ padding: 3px 7px; background: transparent; border: none; border-radius: 0;
        border-bottom: 3px solid transparent; color: {t.quiet}; }}
    QPushButton#tab:checked {{ color: {t.ink}; border-bottom: 3px solid {t.accent}; }}
    QPushButton#tab:hover, QPushButton#tab:focus {{ color: {t.accent}; }}
    QListView::indicator:unchecked, QCheckBox::indicator:unchecked {{ background: {t.panel}; width: 11px; height: 11px;
        border: 1px solid {t.quiet}; border-radius: 2px; }}
    QScrollArea, QScrollArea > QWidget > QWidget {{ border: none; background: transparent; }}
    QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
    QScrollBar::handle:vertical {{ background: {t.line}; border-radius: 4px; min-height: 30px; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; }}
    QSplitter::handle {{ background: {t.line}; }}
    QProgressBar {{ border: 1px solid {t.line}; border-radius: 4px; background: {t.panel}; text-align: center; }}
    QProgressBar::chunk {{ background: {t.accent}; border-radius: 3px; }}
    """


def apply_theme(widget: QtWidgets.QWidget, theme: Theme) -> None:
    """Palette and style sheet."""
    widget.setPalette(palette(theme))
    widget.setStyleSheet(style_sheet(theme))


def restyle(widget: QtWidgets.QWidget) -> None:
    """After an object name or property that the style sheet asks for has changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
