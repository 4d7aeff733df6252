"""Shared files agree with the code: RViz and Foxglove show topics that exist, teleop.launch.py starts its nodes."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from shoal.messages.topics import TOPICS, Topic
from shoal_teleop.nodes import teleop_nodes

ROOT = Path(__file__).resolve().parents[3]


def known(name: str) -> Topic | None:
    """The line of the table that a topic's name belongs to."""
    return next((t for t in TOPICS if re.fullmatch(re.sub(r"\{\w+\}", "[a-z0-9_]+", t.name), name)), None)


def all_values(data: Any, key: str) -> list[Any]:
    """Every value under `key`, however deep."""
    if isinstance(data, dict):
        here = [data[key]] if key in data else []
        return here + [v for value in data.values() for v in all_values(value, key)]
    return [v for value in data for v in all_values(value, key)] if isinstance(data, list) else []


def test_rviz_shows_topics_of_the_table_with_their_qos() -> None:
    data = yaml.safe_load((ROOT / "config/rviz/shoal.rviz").read_text())
    assert data["Visualization Manager"]["Global Options"]["Fixed Frame"] == "map"
    shown = [t for t in all_values(data, "Topic") if isinstance(t, dict)]
    assert {"/markers", "/fleet/setpoint", "/fleet/waypoints", "/goal_pose"} <= {t["Value"] for t in shown}
    for entry in shown:
        topic = known(entry["Value"])
        assert topic is not None, entry
        latched = entry["Durability Policy"] == "Transient Local"
        assert latched == (topic.qos == "latched"), entry  # asking for more than is offered shows nothing
        assert entry["Reliability Policy"] == "Reliable" and topic.qos in ("latched", "latest", "reliable")


@pytest.mark.parametrize("name", ["shoal", "docking", "platform"])
def test_foxglove_layout_is_whole_and_shows_topics_of_the_table(name: str) -> None:
    data = json.loads((ROOT / f"config/foxglove/{name}.json").read_text())

    def panels(node: Any) -> list[str]:
        return [node] if isinstance(node, str) else panels(node["first"]) + panels(node["second"])

    assert sorted(panels(data["layout"])) == sorted(data["configById"])
    paths = [p["value"] for entry in all_values(data, "paths") for p in entry if p["value"].startswith("/")]
    named = [*paths, *all_values(data, "topicPath"), *all_values(data, "topicName"), *all_values(data, "poseTopic")]
    named += [topic for topics in all_values(data, "topics") for topic in topics]
    assert len(named) > 20
    for topic in named:
        assert known(topic.split(".")[0]) is not None, topic
    assert {p.name for p in (ROOT / "config/foxglove").iterdir()} == {"shoal.json", "docking.json", "platform.json"}


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem.replace(".", "_"), file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("driver, nodes", [("shoal", 2), ("joy", 2), ("none", 1)])
def test_teleop_launch_starts_the_list_of_nodes(monkeypatch: pytest.MonkeyPatch, driver: str, nodes: int) -> None:
    load(ROOT / "src/shoal_gazebo/test/launch_stand_in.py").install(monkeypatch)
    module = load(ROOT / "launch/teleop.launch.py")
    given = {name: default for name, (default, _, _) in module.ARGUMENTS.items()} | {"driver": driver}
    actions = module.start(SimpleNamespace(launch_configurations=given))
    started = [a.options for a in actions if type(a).__name__ == "Node"]
    expected = teleop_nodes("xbox", driver, 0)
    assert len(started) == len(expected) == nodes
    for option, spec in zip(started, expected, strict=True):
        assert (option["package"], option["executable"], option["name"]) == (spec.package, spec.executable, spec.name)
        assert option["parameters"] == [dict(spec.parameters)]
    assert type(actions[0]).__name__ == "SetEnvironmentVariable"  # this machine only, unless asked for more


real_launch = importlib.util.find_spec("launch_ros") is not None


@pytest.mark.skipif(not real_launch, reason="launch and launch_ros come with a ROS 2 install only")
def test_teleop_launch_with_the_real_launch() -> None:
    from launch import LaunchContext

    module = load(ROOT / "launch/teleop.launch.py")
    context = LaunchContext()
    description = module.generate_launch_description()
    for action in description.entities[:-1]:
        action.execute(context)
    assert len(module.start(context)) == 3


def test_wrong_choices_are_told_before_anything_starts() -> None:
    from shoal.errors import ShoalError

    for bad in ({"layout": "no_such_pad"}, {"driver": "bluetooth"}):
        with pytest.raises(ShoalError):
            teleop_nodes(**bad)
