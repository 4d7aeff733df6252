"""The station as an rqt plugin. rqt brings Qt and the window; the rest is the same."""

from __future__ import annotations

from typing import Any

from rqt_gui_py.plugin import Plugin

from shoal_rqt.theme import THEMES
from shoal_rqt.window import make_station


class StationPlugin(Plugin):
    """Named in plugin.xml. It has a node of its own, in a thread of its own: rqt's is for rqt."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.setObjectName("ShoalStation")
        self.station, self._link = make_station()
        number = context.serial_number()
        self.station.setWindowTitle("Shoal" + (f" ({number})" if number > 1 else ""))
        context.add_widget(self.station)

    def shutdown_plugin(self) -> None:
        """rqt closes it."""
        self.station.close_down()
        self._link.close()

    def save_settings(self, plugin_settings: Any, instance_settings: Any) -> None:
        """Into the perspective."""
        instance_settings.set_value("theme", self.station.theme.name)

    def restore_settings(self, plugin_settings: Any, instance_settings: Any) -> None:
        """From the perspective."""
        theme = THEMES.get(str(instance_settings.value("theme")))
        if theme is not None:
            self.station.apply_theme(theme)
