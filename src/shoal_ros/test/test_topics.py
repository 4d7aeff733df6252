"""The table of topics is what runs: nodes open each topic with the QoS it names. The manual knows every parameter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from rclpy.node import Node

from shoal.control.settings import NmpcSettings
from shoal.fleet.agent_settings import AgentSettings
from shoal.fleet.link import LinkSettings
from shoal.fleet.runtime import RuntimeSettings
from shoal.messages.topics import TOPICS, Topic
from shoal_guidance.settings import GuidanceSettings
from shoal_ros import endpoints
from shoal_ros.harness import Harness
from shoal_ros.parameters import leaves
from shoal_ros.qos import PROFILES

ROOT = Path(__file__).resolve().parents[3]
MANUAL = (ROOT / "docs/ros.md").read_text(encoding="utf-8")
NODES = {
    "mpc": "src/shoal_ros/shoal_ros/controller_parameters.py",
    "dynamics": "src/shoal_dynamics/shoal_dynamics/dynamics.py",
    "guidance": "src/shoal_guidance/shoal_guidance/guidance.py",
    "fleet_manager": "src/shoal_assembly/shoal_assembly/fleet_manager.py",
    "tag_detector": "src/shoal_assembly/shoal_assembly/tag_detector.py",
    "tank_bridge": "src/shoal_assembly/shoal_assembly/tank_bridge.py",
    "relay": "src/shoal_ros/shoal_ros/relay.py",
    "display": "src/shoal_ros/shoal_ros/display.py",
}


def rows(heading: str) -> list[list[str]]:
    """Cells of the manual's table whose heading begins with that word."""
    found = re.search(rf"^\| {heading}\b.*\n\|[-|]+\n((?:\|.*\n)+)", MANUAL, re.MULTILINE)
    assert found, heading
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in found[1].splitlines()]


@pytest.mark.parametrize("node", NODES)
def test_manual_has_every_parameter(node: str) -> None:
    text = (ROOT / NODES[node]).read_text(encoding="utf-8")
    declared = set(re.findall(r'declare\(\s*(?:self|node),\s*"(\w+)"', text))
    if node == "relay":
        declared |= {leaf.name for leaf in leaves(LinkSettings())}
    if node == "guidance":
        declared |= {leaf.name for leaf in leaves(GuidanceSettings())}
    if node == "mpc":
        declared |= {*RuntimeSettings.model_fields} - {"agent"} | {"backend"}
        declared |= {name for name, field in AgentSettings.model_fields.items() if field.annotation is float}
    documented = {name for cells in rows(node) for name in re.findall(r"`([a-z0-9_A-Z]+)`", cells[0])}
    assert documented == declared


def test_manual_names_every_group_of_settings() -> None:
    for name in {leaf.name.split(".")[0] for leaf in leaves(NmpcSettings()) if "." in leaf.name}:
        assert f"`{name}.*`" in MANUAL


@pytest.mark.parametrize("topic", TOPICS, ids=lambda t: t.name)
def test_types_exist_and_names_fill_in(topic: Topic) -> None:
    if topic.type.startswith("tf2_msgs"):
        pytest.importorskip("tf2_msgs")
    assert endpoints.message_class(topic.type).__name__ == topic.type.split("/")[1]
    assert "{" not in topic.of(vehicle="a", other="b", thruster="t", port="p")
    assert topic.qos in PROFILES


def test_names_are_unique() -> None:
    names = [topic.name for topic in TOPICS]
    assert len(set(names)) == len(names)


@pytest.mark.ros
def test_what_dds_announces_is_what_the_table_says() -> None:
    """As the endpoints announce it: one publisher and one subscription of each."""
    with Harness() as harness:
        here = [t for t in TOPICS if not t.type.startswith("tf2_msgs")]
        names = {"vehicle": "a", "other": "b", "thruster": "t", "port": "p"}
        kept = [endpoints.publisher(harness.node, t, **names) for t in here]
        received = [harness.listen(t, **names) for t in here]
        harness.spin(lambda: all(p.get_subscription_count() for p in kept), "all to fit each other")
        assert len(received) == len(kept)
        for topic in here:
            for find in (harness.node.get_publishers_info_by_topic, harness.node.get_subscriptions_info_by_topic):
                announced = find(topic.of(**names))[0].qos_profile
                assert announced.reliability == PROFILES[topic.qos].reliability
                assert announced.durability == PROFILES[topic.qos].durability


def test_no_node_opens_topics_past_the_table() -> None:
    """Ours, at least; whoever needs another name adds a line to the table."""
    for path in (*NODES.values(), "src/shoal_ros/shoal_ros/controller_node.py"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert "create_publisher" not in text and "create_subscription" not in text


def test_no_node_writes_over_a_name_of_rclpys_own() -> None:
    """Node keeps its clock in `_clock`: a publisher of that name works until somebody sets a parameter."""
    with Harness() as harness:
        taken = set(vars(harness.node)) | set(dir(Node))
    for path in ROOT.glob("src/*/*/*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"class \w+\(Node\)", text):
            ours = set(re.findall(r"self\.(\w+)(?:, self\.\w+)*(?:: [^=\n]+)? = ", text))
            ours |= set(re.findall(r"^    def (\w+)\(", text, re.MULTILINE)) - {"__init__", "destroy_node"}
            assert not ours & taken, path
