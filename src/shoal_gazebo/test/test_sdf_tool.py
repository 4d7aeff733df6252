"""Every SDF through Debian's parser, `ign sdf -k`.

Debian's is SDFormat 12, which knows SDF up to 1.9; our files are 1.10 for one element, <fluid_added_mass>, and for
nothing else. So the parser gets a copy with that element taken out and the version set to 1.9. The element itself is
checked by `shoal gazebo check` (test_model.py), and here against the names that the SDF 1.10 specification gives.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from shoal.assembly.file import load_assembly
from shoal.vehicles.description import load_vehicle
from shoal_gazebo.assembly_model import render_assembly
from shoal_gazebo.bringup import prepare
from shoal_gazebo.generate import shipped_water
from shoal_gazebo.render import render_model

ROOT = Path(__file__).parents[3]
HEAVY = ROOT / "models" / "bluerov2_heavy" / "model.sdf"
FILES = sorted([*ROOT.glob("models/*/model.sdf"), *ROOT.glob("worlds/*.sdf")])
ADDED_MASS = re.compile(r"<fluid_added_mass>.*?</fluid_added_mass>", re.DOTALL)
needs_ign = pytest.mark.skipif(
    shutil.which("ign") is None, reason="`ign` not found; on Debian: apt-get install ignition-tools libsdformat-dev"
)


def as_sdf_1_9(text: str) -> str:
    return ADDED_MASS.sub("", text).replace('<sdf version="1.10"', '<sdf version="1.9"')


def complaints(text: str, folder: Path) -> str:
    """What the parser says, without its note on a missing back-trace library."""
    path = folder / "file.sdf"
    path.write_text(text, encoding="utf-8")
    result = subprocess.run(["ign", "sdf", "-k", str(path)], capture_output=True, text=True, timeout=60, check=False)
    lines = [s for s in (result.stdout + result.stderr).splitlines() if "tools-backward" not in s]
    return "\n".join(lines).strip()


def test_there_are_files() -> None:
    assert [f.relative_to(ROOT).as_posix() for f in FILES] == [
        "models/bluerov2/model.sdf",
        "models/bluerov2_heavy/model.sdf",
        "models/boat/model.sdf",
        "models/delfia1/model.sdf",
        "worlds/ocean.sdf",
        "worlds/tank.sdf",
    ]


@needs_ign
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.parent.name + "/" + p.name)
def test_committed_files_parse(path: Path, tmp_path: Path) -> None:
    assert complaints(as_sdf_1_9(path.read_text(encoding="utf-8")), tmp_path) == "Valid."


@needs_ign
@pytest.mark.parametrize(
    ("type_", "name"),
    [("bluerov2_heavy", n) for n in ("wu2018", "ng2024", "von_benzon2022")]
    + [("delfia1", None), ("ardusub_sitl", None)],
)
def test_rendered_vehicles_parse(type_: str, name: str | None, tmp_path: Path) -> None:
    vehicle = load_vehicle(type_, name)
    text = render_model(vehicle, shipped_water(), name="rov2", current_enu=(0.1, 0, 0))
    assert complaints(as_sdf_1_9(text), tmp_path) == "Valid."


@needs_ign
def test_the_parser_does_complain(tmp_path: Path) -> None:
    """About a joint to nowhere, a bad number, and the 1.10 file as it is."""
    text = HEAVY.read_text(encoding="utf-8")
    good = as_sdf_1_9(text)
    assert "Error" in complaints(good.replace("<child>thruster1</child>", "<child>nowhere</child>"), tmp_path)
    assert "Error" in complaints(good.replace("<mass>13.46</mass>", "<mass>eleven</mass>"), tmp_path)
    assert "1.10" in complaints(text, tmp_path)


def test_added_mass_is_all_that_needs_1_10() -> None:
    axes = "xyzpqr"
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert '<sdf version="1.10"' in text or '<sdf version="1.9"' in text
        blocks = ADDED_MASS.findall(text)
        assert len(blocks) == (path.parent.parent.name == "models")
        for block in blocks:
            assert re.findall(r"<([a-z]{2})>", block) == [a + b for i, a in enumerate(axes) for b in axes[i:]]


# System libraries of gz-sim 7 that our files may use, by what stands between `gz-sim-` and `-system`.
GARDEN = {"buoyancy", "detachable-joint", "hydrodynamics", "odometry-publisher", "physics"}
GARDEN |= {"scene-broadcaster", "sensors", "thruster", "user-commands"}
# Parts of its window, of gz-gui 7 and gz-sim 7.
GARDEN_WINDOW = {"CameraTracking", "EntityContextMenuPlugin", "EntityTree", "GzSceneManager", "InteractiveViewControl"}
GARDEN_WINDOW |= {"MarkerManager", "MinimalScene", "SelectEntities", "VisualizationCapabilities"}
GARDEN_WINDOW |= {"WorldControl", "WorldStats"}


def systems(text: str) -> set[str]:
    """By their libraries; whatever else is plugged in belongs to the window."""
    libraries = re.findall(r'<plugin\b[^>]*filename="([^"]*)"', text)
    assert len(libraries) == text.count("<plugin")
    found = {name: re.fullmatch(r"gz-sim-([a-z-]+)-system", name) for name in libraries}
    assert {name for name, match in found.items() if match is None} <= GARDEN_WINDOW
    return {match[1] for match in found.values() if match}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.parent.name + "/" + p.name)
def test_systems_are_gardens(path: Path) -> None:
    used = systems(path.read_text(encoding="utf-8"))
    assert used and used <= GARDEN


def test_systems_of_what_is_rendered_for_a_run_are_gardens(tmp_path: Path) -> None:
    """Latches, cameras, vessels, an assembly's detachable joints; and their SDF is 1.10 or older."""
    texts = [render_assembly(load_assembly("vessels_3x1"), shipped_water(), detachable=True)]
    for fleet, options in (("two", {"docking": True}), ("vessels3", {"docking": True, "camera": False})):
        ready = prepare(fleet, "tank", tmp_path / fleet, **options)
        texts += [spawn.model_file.read_text(encoding="utf-8") for spawn in ready.spawns]
    assert all({"1.9", "1.10"} >= set(re.findall(r'<sdf version="([^"]*)"', text)) for text in texts)
    used = [systems(text) for text in texts]
    assert all(used) and set.union(*used) <= GARDEN and "detachable-joint" in set.union(*used)
