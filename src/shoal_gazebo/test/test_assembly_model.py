"""Joined vehicles as one Gazebo model: each module in its place, read back; joints fixed or detachable."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from shoal.assembly.file import load_assembly
from shoal.errors import ShoalError
from shoal.vehicles.parameters import mass_matrix
from shoal_gazebo.assembly_model import render_assembly, sdf_pose
from shoal_gazebo.check import check_model, spatial_inertia
from shoal_gazebo.frames import FRD_TO_FLU_6, rotation_rpy
from shoal_gazebo.generate import shipped_water
from shoal_gazebo.sdf_reader import _model
from test_sdf_tool import as_sdf_1_9, complaints, needs_ign


def parts(text: str) -> tuple[ET.Element, dict[str, ET.Element]]:
    whole = ET.fromstring(text).find("model")
    assert whole is not None
    return whole, {m.attrib["name"]: m for m in whole.findall("model")}


@pytest.mark.parametrize("name", ["pair_turned", "square", "vessels_3x1"])
def test_all_modules_together_weigh_and_turn_as_the_composite_does(name: str) -> None:
    """Every module passes the check of a single model, and their inertias in their places add up to the composite's."""
    file, water = load_assembly(name), shipped_water()
    whole, nested = parts(render_assembly(file, water))
    assembly, composite = file.assembly(), file.composite()
    total = np.zeros((6, 6))
    for module, element in nested.items():
        model = _model(element)
        assert [f for f in check_model(model, assembly.modules[module], water) if not f.ok] == []
        x, y, z, *angles = (float(v) for v in str(element.findtext("pose")).split())
        turn = rotation_rpy(*angles)
        lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        move = np.block([[turn.T, -turn.T @ lever], [np.zeros((3, 3)), turn.T]])
        added = [link.added_mass for link in model.links.values() if link.added_mass is not None]
        total += move.T @ (sum(spatial_inertia(link) for link in model.links.values()) + sum(added)) @ move
    wanted = FRD_TO_FLU_6 @ mass_matrix(composite.vehicle) @ FRD_TO_FLU_6
    assert np.abs(total - wanted).max() < 1e-6 * np.abs(wanted).max()
    joints = [(str(j.findtext("parent")), str(j.findtext("child"))) for j in whole.findall("joint")]
    assert joints == [(f"{j.a}::base_link", f"{j.b}::base_link") for j in assembly.joints]
    assert {j.attrib["type"] for j in whole.findall("joint")} == {"fixed"}


def test_detachable_joints_belong_to_their_first_module() -> None:
    file = load_assembly("square")
    whole, nested = parts(render_assembly(file, shipped_water(), detachable=True))
    assert not whole.findall("joint")
    found = {
        (name, str(p.findtext("child_model")))
        for name, m in nested.items()
        for p in m.findall("plugin")
        if p.attrib["name"].endswith("DetachableJoint")
    }
    assert found == {(j.a, j.b) for j in file.assembly().joints}


def test_poses_are_flu() -> None:
    port = load_assembly("pair").composite().poses["port"]
    assert sdf_pose(port)[:3] == pytest.approx([0.0, 0.3, -port.position_m[2]], abs=1e-9)  # port is to the left


def test_what_gazebo_has_not_is_refused_in_a_sentence() -> None:
    with pytest.raises(ShoalError, match=r"module 'bracket' is passive; expected vehicles with thrusters of their own"):
        render_assembly(load_assembly("bluerov_bracket"), shipped_water())


@needs_ign
@pytest.mark.parametrize(("name", "detachable"), [("pair_turned", False), ("pair_turned", True), ("vessels_3x1", True)])
def test_the_file_parses(name: str, detachable: bool, tmp_path: Path) -> None:
    text = render_assembly(load_assembly(name), shipped_water(), detachable)
    assert complaints(as_sdf_1_9(text), tmp_path) == "Valid."
