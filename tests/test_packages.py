"""The ROS 2 packages of src/ are complete and agree with each other; colcon and pip rely on it."""

from __future__ import annotations

import ast
import re
import sys
import xml.etree.ElementTree as ET
from configparser import ConfigParser
from pathlib import Path

import pytest

import shoal

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = sorted(path.parent for path in ROOT.glob("src/*/package.xml"))


def import_name(package: Path) -> str:
    return "shoal" if package.name == "shoal_core" else package.name


def setup_keywords(package: Path) -> dict[str, ast.expr]:
    calls = [n for n in ast.walk(ast.parse((package / "setup.py").read_text())) if isinstance(n, ast.Call)]
    setup = next(c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "setup")
    return {k.arg: k.value for k in setup.keywords if k.arg}


def test_all_packages_of_the_design_exist() -> None:
    rooms = "assembly autopilot bringup core dynamics gazebo guidance mavlink mpc recorder ros rqt teleop"
    assert {p.name for p in PACKAGES} >= {f"shoal_{room}" for room in rooms.split()}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_manifest(package: Path) -> None:
    root = ET.parse(package / "package.xml").getroot()
    assert root.get("format") == "3"
    assert root.findtext("name") == package.name
    assert root.findtext("version") == shoal.__version__
    assert root.findtext("license") == "Apache-2.0"
    assert root.findtext("export/build_type") == "ament_python"
    assert 'schematypens="http://www.w3.org/2001/XMLSchema"' in (package / "package.xml").read_text()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_setup_files(package: Path) -> None:
    keywords = setup_keywords(package)
    assert ast.literal_eval(keywords["version"]) == shoal.__version__
    assert (package / "resource" / package.name).is_file()
    assert (package / import_name(package) / "py.typed").is_file()
    config = ConfigParser(interpolation=None)
    config.read(package / "setup.cfg")
    scripts = f"$base/lib/{package.name}"  # where `ros2 run` looks
    assert (config["develop"]["script_dir"], config["install"]["install_scripts"]) == (scripts, scripts)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_package_data_names_every_file_that_is_no_module(package: Path) -> None:
    """What it does not name is missing from wheels and from `colcon build` without links."""
    folder = package / import_name(package)
    (patterns,) = (
        [pattern.value for pattern in values.elts if isinstance(pattern, ast.Constant)]
        for values in setup_keywords(package)["package_data"].values  # type: ignore[attr-defined]
    )
    named = {path for pattern in patterns for path in folder.glob(pattern)}
    there = {p for p in folder.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")}
    assert there and there <= named


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_imported_sisters_are_declared(package: Path) -> None:
    declared = {e.text for e in ET.parse(package / "package.xml").getroot() if e.tag.endswith("depend")}
    source = "\n".join(file.read_text() for file in (package / import_name(package)).rglob("*.py"))
    imported = set(re.findall(r"^\s*(?:from|import) (shoal(?:_\w+)?)\b", source, re.MULTILINE))
    needed = {"shoal_core" if name == "shoal" else name for name in imported} - {package.name}
    assert needed <= declared


def test_core_never_imports_ros() -> None:
    ros = r"^\s*(?:from|import) (rclpy|\w+_msgs|rcl_interfaces|launch|launch_ros|shoal_\w+)\b"
    for file in (ROOT / "src/shoal_core/shoal").rglob("*.py"):
        assert not re.search(ros, file.read_text(), re.MULTILINE), file


def test_mypy_looks_at_every_package() -> None:
    settings = (ROOT / "pyproject.toml").read_text()
    for package in PACKAGES:
        assert f'"src/{package.name}/{import_name(package)}"' in settings


def test_citation_has_the_version() -> None:
    assert f"version: {shoal.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_lock_names_one_exact_version_each() -> None:
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines and all(re.match(r"[\w.-]+==[\w.]+( ;|$)", line) for line in lines)


PROVIDED = {"yaml": "pyyaml", "PySide6": "pyside6-essentials", "pygame": "pygame-ce", "do_mpc": "do-mpc",
            "cv2": "opencv-python-headless", "PIL": "pillow"}  # fmt: skip
OF_ROS = r"(rclpy|launch|launch_ros|rqt_gui_py|rcl_interfaces|builtin_interfaces|std_srvs|\w+_msgs)$"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_a_wheel_names_every_library_it_imports(package: Path) -> None:
    """Or `pip install dist/*.whl` gives commands that cannot start. What a sister needs comes with the sister."""

    def required(name: str) -> set[str]:
        keyword = setup_keywords(ROOT / "src" / name)["install_requires"]
        own = {re.split(r"[<>=]", word)[0] for word in ast.literal_eval(keyword)}
        return own.union(*(required(other) for other in own if other.startswith("shoal_")))

    imported: set[str] = set()
    for file in (package / import_name(package)).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            imported |= {name.partition(".")[0] for name in names}
    imported -= {*sys.stdlib_module_names, "shoal", "annotated_types"}  # the last is pydantic's
    needed = {PROVIDED.get(n, n) for n in imported if not re.match(OF_ROS, n) and not n.startswith("shoal_")}
    assert needed <= required(package.name), needed - required(package.name)
