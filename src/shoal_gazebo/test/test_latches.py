"""Docking in Gazebo: latches in models and bridge, and who is joined when, by the vehicles' odometry."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import yaml

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.frames import from_yaw
from shoal.messages.docking import DockingOrder
from shoal.messages.joining import Joining
from shoal.messages.state import POSITION, VELOCITY
from shoal_gazebo.bringup import prepare
from shoal_gazebo.latches import LatchPair, latch_pairs
from shoal_gazebo.nodes import gazebo_nodes
from shoal_gazebo.port_watch import PortWatch
from test_sdf_tool import as_sdf_1_9, complaints, needs_ign

DOCK = DockingOrder(1, "dock", "rov1", "bow", "rov2", "bow")


def states(
    gap_m: float, aside_m: float = 0.0, turned_deg: float = 0.0, closing_mps: float = 0.02
) -> dict[str, np.ndarray]:
    """Bow to bow: rov1 looks north, rov2 south at it, with their ports so far apart."""
    fleet = load_fleet("two")
    bows = {m.name: next(p for p in m.vehicle().ports if p.name == "bow") for m in fleet.vehicles}
    found = {name: np.zeros(13) for name in bows}
    found["rov1"][3:7] = from_yaw(0.0)
    found["rov2"][3:7] = from_yaw(np.pi + np.radians(turned_deg))
    reach = bows["rov1"].place_m[0] + bows["rov2"].place_m[0]
    found["rov2"][POSITION] = [reach + gap_m, aside_m, bows["rov1"].place_m[2] - bows["rov2"].place_m[2]]
    found["rov2"][VELOCITY] = [closing_mps, 0.0, 0.0]
    return found


def test_models_and_bridge_have_a_latch_for_each_pair_only_when_asked(tmp_path: Path) -> None:
    plain = prepare("two", "tank", tmp_path / "plain")
    assert plain.latches == () and "DetachableJoint" not in "".join(s.model_file.read_text() for s in plain.spawns)
    assert all(node.executable != "port_keeper" for node in gazebo_nodes(plain))
    ready = prepare("ring5", "tank", tmp_path / "ring", docking=True)
    assert len(ready.latches) == 10 and "port_keeper" in [node.executable for node in gazebo_nodes(ready)]
    seen = []
    for spawn in ready.spawns:
        model = ET.parse(spawn.model_file).getroot().find("model")
        assert model is not None
        links = {link.attrib["name"] for link in model.findall("link")}
        for plugin in (p for p in model.findall("plugin") if p.attrib["name"].endswith("DetachableJoint")):
            assert plugin.findtext("parent_link") in links and plugin.findtext("child_model_link") in links
            seen.append(LatchPair(spawn.name, str(plugin.findtext("child_model"))))
    assert tuple(seen) == ready.latches == latch_pairs(load_fleet("ring5"))
    bridge = yaml.safe_load(ready.bridge_files["shared"].read_text())
    directions = {e["gz_topic_name"]: (e["direction"], e["gz_type_name"]) for e in bridge}
    assert directions["/model/rov1/joint/rov2/attach"] == ("ROS_TO_GZ", "gz.msgs.Empty")
    assert directions["/model/rov1/joint/rov2/detach"] == ("ROS_TO_GZ", "gz.msgs.Empty")
    assert directions["/model/rov1/joint/rov2/state"] == ("GZ_TO_ROS", "gz.msgs.StringMsg")


@needs_ign
def test_a_model_with_latches_parses(tmp_path: Path) -> None:
    ready = prepare("two", "tank", tmp_path / "two", docking=True)
    assert complaints(as_sdf_1_9(ready.spawns[0].model_file.read_text()), tmp_path) == "Valid."


@pytest.mark.parametrize(
    "how",
    [{"gap_m": 0.06}, {"gap_m": 0.01, "aside_m": 0.05}, {"gap_m": 0.01, "turned_deg": 8.0},
     {"gap_m": 0.01, "closing_mps": 0.3}],
)  # fmt: skip
def test_a_latch_closes_where_the_ports_catch_and_nowhere_else(how: dict[str, float]) -> None:
    watch = PortWatch(load_fleet("two"))
    assert watch.close(states(0.01)) == []  # nobody has asked
    watch.obey(DOCK)
    assert watch.close(states(**how)) == []
    (joint,) = watch.close(states(0.01))
    assert (joint.a, joint.b) == ("rov1", "rov2") and watch.present.joints == (joint,)
    assert watch.close(states(0.01)) == [] and watch.present.counter == 1
    watch.obey(DOCK)  # the same order, repeated by the station
    watch.obey(DockingOrder(2, "undock", "rov1", "bow", "rov2", "bow"))
    assert watch.present.joints == () and watch.present.counter == 2
    assert watch.close(states(0.01)) == []  # a port that was just left does not catch again


def test_stop_cancel_and_orders_that_cannot_be() -> None:
    watch = PortWatch(load_fleet("two"))
    watch.obey(DOCK)
    watch.disarm()
    assert watch.close(states(0.01)) == []
    watch.obey(DockingOrder(2, "dock", "rov1", "bow", "rov2", "bow"))
    watch.obey(DockingOrder(3, "cancel", "rov1", "bow", "rov2", "bow"))
    assert watch.close(states(0.01)) == []
    with pytest.raises(ShoalError, match="has no port 'keel'; expected one of"):
        watch.obey(DockingOrder(4, "dock", "rov1", "keel", "rov2", "bow"))
    watch.obey(DockingOrder(5, "dock", "rov1", "bow", "rov2", "bow"))
    (joint,) = watch.close(states(0.01))
    other = PortWatch(load_fleet("two"))
    with pytest.raises(ShoalError, match=r"rov1 \+ rov2: cannot be joined by order in Gazebo; expected to be docked"):
        other.follow(Joining(7, (joint,)))
    watch.follow(Joining(7))
    assert watch.present.joints == ()


def test_cameras_find_the_other_ports_marker_in_their_cone_alone() -> None:
    watch = PortWatch(load_fleet("two"))
    watch.obey(DOCK)
    found: dict[tuple[str, str], int] = {}
    for k in range(100):
        for pair, seen in watch.look(0.02 * k, states(0.8)).items():
            found[pair] = found.get(pair, 0) + len(seen)
    assert set(found) == {("rov1", "rov2"), ("rov2", "rov1")} and min(found.values()) > 10
    away = states(0.8, turned_deg=180.0)
    seen = [pair for k in range(100, 200) for pair in watch.look(0.02 * k, away)]
    assert len(seen) <= 2  # what was on its way
