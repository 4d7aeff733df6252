"""A Foxglove layout's panels and message paths, for tests. What panels may hold is as in Foxglove's last open source
and in its successor Lichtblick 1.28 (checked against their types by hand, 2026-11-19)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from shoal.messages.topics import TOPICS, Topic
from shoal.recordings.typestore import store

LAYOUTS = Path(__file__).resolve().parents[3] / "config" / "foxglove"
NAMES = ("shoal", "docking", "platform")
TITLE = {"foxglovePanelTitle"}
# What a panel reads of its settings: those it cannot do without, and those it also knows.
SETTINGS: dict[str, tuple[set[str], set[str]]] = {
    "3D": (
        {"cameraState", "followMode", "followTf", "scene", "transforms", "topics", "layers", "publish"},
        {"imageMode"},
    ),
    "Plot": (
        {"paths", "showLegend", "legendDisplay", "showPlotValuesInLegend", "showXAxisLabels", "showYAxisLabels",
         "isSynced", "xAxisVal", "sidebarDimension"},
        {"minXValue", "maxXValue", "minYValue", "maxYValue", "xAxisPath", "xAxisLabel", "yAxisLabel",
         "followingViewWidth"},
    ),
    "RawMessages": (
        {"diffEnabled", "diffMethod", "diffTopicPath", "showFullMessageForDiff", "topicPath", "fontSize"},
        {"expansion"},
    ),
    "DiagnosticSummary": ({"minLevel", "pinnedIds", "hardwareIdFilter", "topicToRender"}, {"sortByLevel"}),
    "Publish": (
        {"advancedView"},
        {"topicName", "datatype", "buttonText", "buttonTooltip", "buttonColor", "value"},
    ),
    "RosOut": ({"searchTerms", "minLogLevel"}, {"topicToRender", "nameFilter"}),
}  # fmt: skip
SERIES = ({"value", "enabled", "timestampMethod"}, {"color", "label", "showLine", "lineSize"})


def load(name: str) -> dict[str, Any]:
    """By name."""
    data: dict[str, Any] = json.loads((LAYOUTS / f"{name}.json").read_text(encoding="utf-8"))
    return data


def known(name: str) -> Topic | None:
    """The line of the table that a topic's name belongs to."""
    return next((t for t in TOPICS if re.fullmatch(re.sub(r"\{\w+\}", "[a-z0-9_]+", t.name), name)), None)


def plotted(data: dict[str, Any]) -> list[str]:
    """Message paths of plots; without the numbers that stand for level lines."""
    panels = [panel for key, panel in data["configById"].items() if key.startswith("Plot!")]
    return [path["value"] for panel in panels for path in panel["paths"] if path["value"].startswith("/")]


def shown(data: dict[str, Any]) -> list[str]:
    """Message paths and topics of all other panels that show something."""
    found: list[str] = []
    for panel in data["configById"].values():
        found += [panel[key] for key in ("topicPath", "topicToRender") if panel.get(key)]
        found += list(panel.get("topics", {}))
    return found


def type_at(path: str) -> str:
    """Of what a message path ends at, by the messages' own definitions; a KeyError where there is no such field."""
    name, *fields = path.split(".")
    topic = known(name)
    if topic is None:
        raise KeyError(f"{name}: no such topic")
    package, kind = topic.type.split("/")
    here = f"{package}/msg/{kind}"
    for field in fields:
        node = dict(store().fielddefs[here][1])[field.split("[")[0]]
        here = str(node[1][0] if int(node[0]) == 1 else node[1])
    return here


def topics_of(data: dict[str, Any]) -> set[str]:
    """All that it shows."""
    return {path.split(".")[0] for path in (*plotted(data), *shown(data))}
