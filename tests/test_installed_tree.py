"""Installed as wheels into a prefix of its own, without the checkout and without links: is everything there?"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shoal.recordings.run_messages import write_bag
from synthetic_runs import make_record

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("shoal_core", "shoal_gazebo", "shoal_bringup")  # those that have more than Python files
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Built from copies: a build leaves its traces where the sources are."""
    scratch = tmp_path_factory.mktemp("wheels")
    leave_out = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "test")
    copies = [Path(shutil.copytree(ROOT / "src" / name, scratch / name, ignore=leave_out)) for name in PACKAGES]
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run([*pip, "--wheel-dir", str(scratch), *map(str, copies)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name: next(scratch.glob(f"{name}-*.whl")) for name in PACKAGES}


@pytest.fixture(scope="module")
def prefix(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As an install prefix of colcon's: `lib` with the modules, `share` with the shared files."""
    prefix = tmp_path_factory.mktemp("prefix")
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(prefix / "lib")
    for data in (prefix / "lib").glob("*.data/data"):
        shutil.copytree(data, prefix, dirs_exist_ok=True)
    return prefix


def run(prefix: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with the installed modules before those of the checkout."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SHOAL_")}
    environment |= {"PYTHONPATH": str(prefix / "lib"), "AMENT_PREFIX_PATH": str(prefix)}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_has_every_file_of_its_package(wheels: dict[str, Path], name: str) -> None:
    module = "shoal" if name == "shoal_core" else name
    folder = ROOT / "src" / name
    wanted = {p.relative_to(folder).as_posix() for p in (folder / module).rglob("*") if p.is_file()}
    wanted = {path for path in wanted if "__pycache__" not in path}
    with zipfile.ZipFile(wheels[name]) as archive:
        assert wanted - set(archive.namelist()) == set()


def test_modules_find_their_files_in_the_installed_tree(prefix: Path, tmp_path: Path) -> None:
    script = """
import json, shoal
from pathlib import Path
from shoal.config.files import find_config, list_configs
from shoal.control.nmpc.backends import kernel
from shoal.reports import report
from shoal_gazebo import render
templates = sorted(report._environment(autoescape=True).list_templates())
for template in templates:
    if template.endswith(".j2"):
        report._environment(autoescape=True).get_template(template)
print(json.dumps({"shoal": shoal.__file__, "kernel": all(p.is_file() for p in kernel.SOURCES), "templates": templates,
                  "typed": Path(shoal.__file__).with_name("py.typed").is_file(),
                  "fleet": str(find_config("fleets", "two")), "reference": list_configs("reference")}))
"""
    done = run(prefix, tmp_path, "-c", script)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["shoal"]).is_relative_to(prefix) and found["kernel"] and found["typed"]
    assert found["templates"] == sorted(p.name for p in (ROOT / "src/shoal_core/shoal/reports/templates").iterdir())
    assert Path(found["fleet"]) == prefix / "share/shoal_bringup/config/fleets/two.yaml"
    assert "fosso2023" in found["reference"]


def test_bag_report_from_the_installed_tree(prefix: Path, tmp_path: Path) -> None:
    write_bag(make_record(duration_s=15.0), tmp_path / "bag")
    done = run(prefix, tmp_path, "-m", "shoal.cli", "bag", "report", str(tmp_path / "bag"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "bag" / "report" / "report.html").read_text(encoding="utf-8")
    assert "<style>" in page and "rov1" in (tmp_path / "bag" / "report" / "summary.json").read_text()
