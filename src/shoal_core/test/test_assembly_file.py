"""Assembly files: every shipped one flies as one vehicle, and what is wrong in one gets a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shoal.assembly.file import JointEntry, load_assembly
from shoal.cli import app
from shoal.config.files import list_configs
from shoal.errors import ShoalError
from shoal.fleet.file import Fleet
from shoal.frames import tilt_rad, yaw_of
from shoal.messages.state import State
from shoal.simulation.conditions import Condition, Plant
from shoal.simulation.world import World
from shoal.vehicles.description import AXES, load_vehicle
from shoal.vehicles.ports import Mating, caught

PAIR = """\
version: 1
name: mine
modules:
  a: {type: bluerov2_heavy, parameter_set: wu2018}
  b: {type: bluerov2_heavy, parameter_set: wu2018}
joints:
  - {a: a, b: b, at_a_m: [0, 0.3, 0], at_b_m: [0, -0.3, 0]}
"""


@pytest.mark.parametrize("name", list_configs("assemblies"))
def test_shipped_assemblies_hold_together(name: str) -> None:
    file = load_assembly(name)
    composite = file.composite()
    assert composite.vehicle.mass_kg == pytest.approx(sum(m.vehicle().mass_kg for m in file.modules.values()))
    centre = [0.0, 0.5, 0.0] if name.startswith("mur_") else np.zeros(3)  # halfway along the rod of the MUR spheres
    assert composite.vehicle.cg_m == pytest.approx(centre, abs=1e-9)
    held = composite.vehicle.controlled_axes | set(composite.vehicle.returning_axes())
    adrift = {"sway", "heave"} if name.startswith("mur_") else set()  # one thruster ahead on each sphere
    assert held == set(AXES) - adrift


def test_ports_say_how_modules_lie(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    points = "at_a_m: [0, 0.3, 0], at_b_m: [0, -0.3, 0]"
    path.write_text(PAIR.replace(points, "port_a: starboard, port_b: stern"), encoding="utf-8")
    pose = load_assembly(path).assembly().poses(("a", "b"))["b"]  # stern to the other's side: turned by 90°
    assert pose.position_m == pytest.approx([0.0, 0.6, 0.0], abs=1e-12)
    assert np.degrees(yaw_of(pose.attitude)) == pytest.approx(90.0)
    assert tilt_rad(pose.attitude) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize(
    ("joints", "sentence"),
    [
        ("{a: a, b: b, port_a: keel, port_b: port}", r"'a' has no port 'keel'; expected one of bow, stern, port, star"),
        ("{a: a, b: c, port_a: starboard, port_b: port}", r"'c' is not a module; expected one of a, b"),
        ("{a: a, b: b, port_a: bow, at_b_m: [0, 0, 0]}", r"a to b has port_a, at_b_m; expected port_a and port_b, or"),
        ("{a: a, b: b, port_a: bow}", r"a to b has port_a; expected port_a and port_b"),
        ("{a: a, b: b}", r"a to b has neither ports nor points; expected"),
        (
            "{a: a, b: b, port_a: bow, port_b: bow}\n  - {a: b, b: a, port_a: bow, port_b: bow}",
            r"port 'bow' of a is latched twice; expected one joint at each port",
        ),
    ],
)
def test_wrong_ports_get_a_sentence(tmp_path: Path, joints: str, sentence: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PAIR.split("  - ")[0] + f"  - {joints}\n", encoding="utf-8")
    with pytest.raises(ShoalError, match=sentence):
        load_assembly(path)


def test_a_plug_needs_a_socket() -> None:
    entry, vehicle = JointEntry(a="a", b="b", port_a="bow", port_b="bow"), load_vehicle("bluerov2_heavy")
    plug, socket = (
        replace(vehicle, ports=(replace(vehicle.ports[0], kind=kind),)) for kind in ("plug", "socket")
    )  # fmt: skip
    assert entry.joint({"a": plug, "b": socket}).pose.position_m == pytest.approx([0.6, 0.0, 0.0])
    for a, b in ((plug, plug), (socket, socket), (plug, vehicle)):
        with pytest.raises(ShoalError, match=r"expected two androgynous ones, or a plug and a socket"):
            entry.joint({"a": a, "b": b})
        assert not caught(a.ports[0], b.ports[0], Mating(np.zeros(3), 0.0, 0.0))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("b: b", "b: c", r"mine.yaml: joints: 'c' is not a module; expected one of a, b"),
        ("[0, 0.3, 0]", "[0, 0.1, 0]", r"mine.yaml: joints: the hulls of a and b overlap by 0.175 m"),
        ("  - {a: a, b: b, at_a_m: [0, 0.3, 0], at_b_m: [0, -0.3, 0]}\n", "  []\n", r"nothing joins b to 'a'"),
        ("version: 1", "version: 1\nframe: c", r"frame is 'c'; expected one of a, b"),
        ("type: bluerov2_heavy, parameter_set: wu2018}\n  b", "type: rov8}\n  b", r"'rov8' is unknown"),
    ],
)
def test_mistakes_get_a_sentence(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PAIR.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ShoalError, match=sentence):
        load_assembly(path)
    answer = CliRunner().invoke(app, ["check", str(path)])
    assert answer.exit_code == 2 and "Traceback" not in answer.output


def test_the_frame_may_be_a_modules(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PAIR + "frame: b\n", encoding="utf-8")
    poses = load_assembly(path).composite().poses
    assert poses["b"].position_m == pytest.approx(np.zeros(3), abs=1e-12)
    assert poses["a"].position_m == pytest.approx([0, -0.6, 0])


def test_show_names_modules_and_axes() -> None:
    answer = CliRunner().invoke(app, ["assembly", "show", "pair_turned"])
    assert answer.exit_code == 0
    assert "starboard" in answer.output and "+90°" in answer.output and "surge, sway, heave" in answer.output


def test_a_fleet_names_an_assembly_in_place_of_a_type() -> None:
    base = {"version": 1, "name": "joined", "vehicles": [{"name": "pair", "assembly": "pair", "start_m": [0, 0, 5]}]}
    assert Fleet.model_validate(base).vehicles[0].vehicle().input_count == 16
    base["vehicles"][0]["thrust_limit_N"] = 5.0  # type: ignore[index]
    with pytest.raises(ValueError, match=r"thrust_limit_N is 5.0 beside assembly 'pair', expected only one"):
        Fleet.model_validate(base)


def test_the_modules_of_a_run_differ_one_by_one() -> None:
    fleet = Fleet.model_validate(
        {"version": 1, "name": "joined", "vehicles": [{"name": "pair", "assembly": "pair", "start_m": [0, 0, 5]}]}
    )
    start = {"pair": State.at_rest((0.0, 0.0, 5.0), 0.0)}

    def plant(perturbation: float):
        return World(fleet, start, Condition(plant=Plant(perturbation=perturbation)), 1, 0.05, 1.0).plant.vehicles[0]

    real, drawn = plant(0.2), plant(0.0)
    port, starboard = real.vehicle.hulls
    assert not np.allclose(port.linear_damping, starboard.linear_damping)
    assert np.allclose(*(h.linear_damping for h in drawn.vehicle.hulls))
    assert abs(real.vehicle.cg_m[1]) > 1e-3  # the heavier one pulls the centre to its side
    assert real.thrust_gain.shape == (16,)
