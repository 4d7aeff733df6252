"""The operator's station: all parts together. Runs in rqt, in a window of its own, and without ROS for pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from shoal_rqt import updates
from shoal_rqt.model import Event, FleetModel
from shoal_rqt.qt import QShortcut, Qt, QtCore, QtGui, QtWidgets
from shoal_rqt.requests import Link
from shoal_rqt.theme import LIGHT, THEMES, Theme, apply_theme
from shoal_rqt.update_queue import UpdateQueue
from shoal_rqt.waypoint_list import WaypointList
from shoal_rqt.widgets.command_bar import CommandBar
from shoal_rqt.widgets.environment_panel import EnvironmentPanel
from shoal_rqt.widgets.event_line import EventLine
from shoal_rqt.widgets.fleet_view import FleetView
from shoal_rqt.widgets.join_panel import JoinPanel
from shoal_rqt.widgets.key_list import KeyList
from shoal_rqt.widgets.plot_panel import PlotPanel
from shoal_rqt.widgets.recording_panel import RecordingPanel
from shoal_rqt.widgets.tab_rows import TabRows
from shoal_rqt.widgets.test_panel import TestPanel
from shoal_rqt.widgets.tuning_panel import TuningPanel
from shoal_rqt.widgets.vehicle_card import VehiclePanel
from shoal_rqt.widgets.waypoint_panel import WaypointPanel

POLL_MS = 50  # how often updates are taken in
BEEP_S = 2.0  # of wall time, between two alarm sounds
DRAW_S, NUMBERS_S = 0.1, 0.2  # how often views and numbers are redrawn


class Station(QtWidgets.QWidget):
    """One timer, in the window's thread, does everything; ROS only ever fills the queue of updates."""

    def __init__(
        self, model: FleetModel, update_queue: UpdateQueue, link: Link, parent: QtWidgets.QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("station")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.model, self.update_queue, self.link = model, update_queue, link
        self.theme = LIGHT
        self.waypoints = WaypointList()
        self.bar = CommandBar(model, link)
        self.view = FleetView(model, self.waypoints)
        self.vehicle_panel = VehiclePanel(model)
        self.waypoint_panel = WaypointPanel(model, self.waypoints, link)
        self.test_panel = TestPanel(model, link)
        self.environment_panel = EnvironmentPanel(model, link)
        self.recording_panel = RecordingPanel(model, link)
        self.tuning_panel = TuningPanel(model, link)
        self.plot_panel = PlotPanel(model)
        self.join_panel = JoinPanel(model, link)
        self.muted, self._beeped_s = False, float("-inf")
        self._alarmed: Event | None = None
        self.events = EventLine(model)
        self._drawn_s = self._numbers_s = float("-inf")
        self._build()
        self._make_shortcuts()
        self.apply_theme(LIGHT)
        self._timer = QtCore.QTimer(self)
        self._timer.timeout.connect(self.process_updates)

    def _build(self) -> None:
        self.tabs = QtWidgets.QTabWidget()
        self.tabs.setDocumentMode(True)
        panels = {
            "Vehicles": self.vehicle_panel, "Waypoints": self.waypoint_panel, "Tests": self.test_panel,
            "Water, link": self.environment_panel, "Record": self.recording_panel, "Tune": self.tuning_panel,
            "Plots": self.plot_panel, "Join": self.join_panel,
        }  # fmt: skip
        for number, (name, panel) in enumerate(panels.items(), 1):
            self.tabs.addTab(panel, name)
            self.tabs.setTabToolTip(number - 1, f"Ctrl+{number}")
        right = QtWidgets.QWidget()
        right.setMinimumWidth(374)
        beside = QtWidgets.QVBoxLayout(right)
        beside.setContentsMargins(6, 0, 0, 0)  # from the splitter
        beside.setSpacing(2)
        beside.addWidget(TabRows(self.tabs))
        beside.addWidget(self.tabs, 1)
        split = QtWidgets.QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(self.view)
        split.addWidget(right)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        split.setSizes([640, 400])
        split.setChildrenCollapsible(False)
        self.split = split
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 6)
        layout.setSpacing(6)
        layout.addWidget(self.bar)
        layout.addWidget(split, 1)
        layout.addWidget(self.events)
        self.bar.test_wanted.connect(self.test_panel.start)
        self.bar.refused.connect(lambda why: self.update_queue.put(updates.EventUpdate(1, why)))
        self.setMinimumSize(740, 480)

    def _make_shortcuts(self) -> None:
        """F1 lists them. They act wherever the focus is in the station."""
        view = self.view
        keys: dict[str, tuple[str, Callable[[], object]]] = {}
        for index in range(self.tabs.count()):
            keys[f"Ctrl+{index + 1}"] = (self.tabs.tabText(index), partial(self.tabs.setCurrentIndex, index))
        keys |= {
            "Esc": ("STOP: zero thrust on every vehicle (closes this list first)", self.escape),
            "Ctrl+Shift+R": ("release the stop", self.bar.release_stop),
            "F1": ("this list", self.show_keys),
            "F2": ("hold", lambda: self.bar.request_mode("hold")),
            "F3": ("joystick", lambda: self.bar.request_mode("manual")),
            "F4": ("waypoints", lambda: self.bar.request_mode("waypoints")),
            "F5": ("start the ticked tests", lambda: self.bar.request_mode("test")),
            "Ctrl+W": ("click adds waypoints, on or off", view.adding.toggle),
            "Ctrl+Return": ("send the waypoints", self.waypoint_panel.go),
            "Ctrl+O": ("load waypoints", self.waypoint_panel.load_dialog),
            "Ctrl+S": ("save waypoints", self.waypoint_panel.save_dialog),
            "Ctrl+F": ("follow the fleet, on or off", view.following.toggle),
            "Ctrl+0": ("show all", view.fit),
            "Ctrl+L": ("clear trails", view.clear_trails),
            "Ctrl+R": ("record, start or stop", self.recording_panel.toggle),
            "Ctrl+D": ("dark or light", self.change_theme),
            "Ctrl+M": ("alarm sound, on or off", self.toggle_sound),
        }
        self.shortcuts = {key: words for key, (words, _) in keys.items()}
        self.keys: KeyList = KeyList(self.shortcuts, self)
        for key, (_, act) in keys.items():
            self._bind(key, act)
        delete = QShortcut(QtGui.QKeySequence("Delete"), self.waypoint_panel.table)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self.waypoint_panel.remove_selected)

    def _bind(self, key: str, act: Callable[[], object]) -> None:
        shortcut = QShortcut(QtGui.QKeySequence(key), self)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(act)

    # -- updates -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Process updates from now on."""
        self._timer.start(POLL_MS)

    def process_updates(self) -> None:
        """Take updates in; redraw no more often than an eye needs."""
        wall_s = time.monotonic()
        for item in self.update_queue.drain():
            if isinstance(item, updates.Answer):
                item.done(item.result)
            else:
                self.model.apply(item, wall_s)
        self.model.check(wall_s)
        self._sound_alarm(wall_s)
        if wall_s - self._drawn_s >= DRAW_S:
            self._drawn_s = wall_s
            self.draw(wall_s)
        if wall_s - self._numbers_s >= NUMBERS_S:
            self._numbers_s = wall_s
            self.show_numbers(wall_s)

    def draw(self, wall_s: float) -> None:
        """The fleet and the bar above it."""
        self.view.refresh(wall_s)
        self.bar.refresh(wall_s)

    def show_numbers(self, wall_s: float) -> None:
        """Panels; those behind another tab wait until they are looked at."""
        self.events.refresh()
        self.plot_panel.sample(wall_s)
        self.tuning_panel.refresh(self.theme)
        shown = self.tabs.currentWidget()
        if shown is self.vehicle_panel:
            self.vehicle_panel.refresh(self.theme, wall_s)
        elif shown is self.plot_panel:
            self.plot_panel.refresh(self.theme)
        elif isinstance(shown, WaypointPanel | TestPanel | EnvironmentPanel | RecordingPanel | JoinPanel):
            shown.refresh()

    def _sound_alarm(self, wall_s: float) -> None:
        """One beep for what is bad and new; many at once are one."""
        newest = next((event for event in reversed(self.model.events) if event.level >= 2), None)
        if newest is None or newest is self._alarmed:
            return
        self._alarmed = newest
        if not self.muted and wall_s - self._beeped_s >= BEEP_S:
            self._beeped_s = wall_s
            self.beep()

    def beep(self) -> None:
        """The desktop's own sound."""
        QtWidgets.QApplication.beep()

    def toggle_sound(self) -> None:
        """Alarms beep, or do not; said in the events either way."""
        self.muted = not self.muted
        self.update_queue.put(updates.EventUpdate(0, f"alarm sound {'off' if self.muted else 'on'} (Ctrl+M)"))

    # -- around it ----------------------------------------------------------------------------------------------

    def apply_theme(self, theme: Theme) -> None:
        """Light or dark."""
        self.theme = theme
        apply_theme(self, theme)
        self.view.apply_theme(theme)
        self.events.apply_theme(theme)
        self.join_panel.platform.grid.apply_theme(theme)
        self._drawn_s = self._numbers_s = float("-inf")

    def change_theme(self) -> None:
        """The other one."""
        self.apply_theme(THEMES["light" if self.theme.name == "dark" else "dark"])

    def show_keys(self) -> None:
        """Show or hide every shortcut."""
        self.keys.toggle()

    def escape(self) -> None:
        """Close the list of keys if it is open; STOP otherwise."""
        if self.keys.isVisible():
            self.keys.hide()
        else:
            self.bar.stop()

    def eventFilter(self, watched: QtCore.QObject, event: QtCore.QEvent) -> bool:
        """Esc anywhere in our window, also before anything of ours has the focus: in rqt that takes a click."""
        if (
            event.type() == QtCore.QEvent.Type.KeyPress
            and isinstance(event, QtGui.QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and isinstance(watched, QtWidgets.QWidget)
            and watched is self.window()
            and self.isVisible()
        ):
            self.escape()
            return True
        return super().eventFilter(watched, event)

    def showEvent(self, event: QtGui.QShowEvent) -> None:
        """The window that holds us is known now, rqt's or our own."""
        self.window().installEventFilter(self)
        super().showEvent(event)

    def close_down(self) -> None:
        """Before the window goes."""
        self._timer.stop()
        self.recording_panel.close_down()
        self.join_panel.platform.close_down()
