"""The rqt plugin, and what the station's modules may import."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
import types
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("pyqtgraph")
pytest.importorskip("PySide6.QtTest")

from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtCore, application
from shoal_rqt.requests import NoLink
from shoal_rqt.station import Station
from shoal_rqt.theme import DARK
from shoal_rqt.update_queue import UpdateQueue

PACKAGE = Path(__file__).resolve().parents[1]


def test_plugin_xml_names_a_class_that_is_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rqt is not installed, its base class is stood in for; what rqt does with the plugin is done to it."""
    application()
    root = ET.parse(PACKAGE / "plugin.xml").getroot()
    (entry,) = root.findall("class")
    assert root.tag == "library" and root.get("path") == "." and entry.get("base_class_type") == "rqt_gui_py::Plugin"
    assert entry.findtext("qtgui/label") and entry.findtext("description")
    module_name, _, class_name = str(entry.get("type")).rpartition(".")
    export = ET.parse(PACKAGE / "package.xml").getroot().find("export/rqt_gui")
    assert export is not None and export.get("plugin") == "${prefix}/plugin.xml"
    assert "plugin.xml" in (PACKAGE / "setup.py").read_text()
    if importlib.util.find_spec("rqt_gui_py") is None:
        stand_in = types.ModuleType("rqt_gui_py.plugin")

        class Plugin(QtCore.QObject):
            def __init__(self, context: Any) -> None:
                super().__init__()

        stand_in.Plugin = Plugin  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "rqt_gui_py", types.ModuleType("rqt_gui_py"))
        monkeypatch.setitem(sys.modules, "rqt_gui_py.plugin", stand_in)
    plugin = importlib.import_module(module_name)
    monkeypatch.delitem(sys.modules, module_name)
    made, link = Station(FleetModel(), UpdateQueue(), NoLink()), NoLink()
    monkeypatch.setattr(plugin, "make_station", lambda: (made, link))
    widgets: list[Any] = []
    context = types.SimpleNamespace(serial_number=lambda: 2, add_widget=widgets.append)
    found = getattr(plugin, class_name)(context)
    assert widgets == [made] and made.windowTitle() == "Shoal (2)"
    settings: dict[str, Any] = {"theme": "dark"}
    store = types.SimpleNamespace(value=settings.get, set_value=settings.__setitem__)
    found.restore_settings(None, store)
    assert made.theme is DARK
    made.change_theme()
    found.save_settings(None, store)
    assert settings["theme"] == "light"
    found.shutdown_plugin()
    assert link.requests == [("close", None)]


def test_qt_is_imported_in_one_place_only() -> None:
    for file in (PACKAGE / "shoal_rqt").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            bad = [n for n in names if n.split(".")[0] in ("PySide6", "PyQt5", "PyQt6", "python_qt_binding")]
            assert not bad or file.name == "qt.py", file


def test_widgets_and_model_know_no_ros() -> None:
    allowed = {"ros_link.py", "subscriptions.py", "ros_calls.py", "docking_sender.py"}
    for file in (PACKAGE / "shoal_rqt").rglob("*.py"):
        if file.name not in allowed:
            text = file.read_text()
            assert "import rclpy" not in text and "from rclpy" not in text and "_msgs" not in text, file
