"""The command line: what each command shows, and how it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from shoal.cli import app


def ink(file: Path) -> float:
    """Share of a picture's pixels that are not white."""
    with Image.open(file) as picture:
        assert picture.format == "PNG"
        return float(np.mean(np.asarray(picture.convert("L")) < 250))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def python(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


def test_starting_up_imports_nothing_heavy() -> None:
    heavy = ("casadi", "matplotlib", "scipy", "pandas", "do_mpc", "dask", "plotly", "rclpy")
    outcome = python(f"import sys, shoal.cli; print([m for m in {heavy} if m in sys.modules])")
    assert outcome.stdout.strip() == "[]", outcome.stdout + outcome.stderr


def test_reading_a_fleet_leaves_scipy_where_it_is() -> None:
    """Every node reads one at its start; scipy.optimize alone would be a third of that."""
    code = "import sys, shoal.fleet.setup; from shoal.fleet.file import load_fleet; load_fleet('two'); "
    outcome = python(code + "print([m for m in ('scipy.optimize', 'scipy.linalg') if m in sys.modules])")
    assert outcome.stdout.strip() == "[]", outcome.stdout + outcome.stderr


def test_help_names_the_commands() -> None:
    outcome = run("--help")
    assert outcome.exit_code == 0
    for command in ("vehicle", "check", "drop", "demo", "bench"):
        assert re.search(rf"\b{command}\b", outcome.stdout)


def test_version() -> None:
    assert re.fullmatch(r"shoal \d+\.\d+\.\d+\n", run("--version").stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ("fly",),
        ("vehicle", "show"),
        ("vehicle", "show", "bluerov9"),
        ("vehicle", "show", "bluerov2_heavy", "--set", "wu2019"),
        ("vehicle", "show", "missing/file.yaml"),
        ("drop", "bluerov2_heavy", "--tilt-deg", "200"),
        ("drop", "bluerov2_heavy", "--colour", "blue"),
        ("bench", "nothing"),
    ],
)
def test_wrong_use_is_refused_with_2(arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert outcome.exit_code == 2
    assert outcome.stderr.strip() and not outcome.stdout.strip()
    assert "Traceback" not in outcome.stderr


def test_errors_reach_the_shell() -> None:
    """Through `main`, as the installed script calls it."""
    outcome = python(
        "import sys; sys.argv = ['shoal', 'vehicle', 'show', 'bluerov9']; from shoal.cli import main; main()"
    )
    assert outcome.returncode == 2
    assert outcome.stderr == (
        "error: vehicles: 'bluerov9' is unknown; did you mean 'bluerov2'? (expected a file or a known name)\n"
    )


def test_vehicle_list() -> None:
    outcome = run("vehicle", "list")
    for word in ("bluerov2_heavy", "wu2018", "ng2024", "von_benzon2022 (default)", "0.88", "1.49", "0.91"):
        assert word in outcome.stdout


def test_vehicle_show_has_everything(tmp_path: Path) -> None:
    picture = tmp_path / "new" / "vehicle.png"
    outcome = run("vehicle", "show", "bluerov2_heavy", "--set", "ng2024", "--picture", picture)
    assert outcome.exit_code == 0, outcome.output
    for word in (
        "11.5",
        "kg m^2",
        "Ng 2024 Table 4.1",
        "heave rise added mass",
        "22.45",
        "+0.7071",
        "-0.1888",
        "thruster8",
    ):
        assert word in outcome.stdout
    for axis, speed in (("surge", "+1.493"), ("heave", "-1.182"), ("yaw", "+3.748")):
        assert re.search(rf"{axis} .*{re.escape(speed)}", outcome.stdout)
    assert ink(picture) > 0.02


def test_drop_shows_simulation_and_closed_form(tmp_path: Path) -> None:
    outcome = run("drop", "bluerov2_heavy", "--set", "wu2018", "--plot", tmp_path / "drop.png")
    assert outcome.exit_code == 0, outcome.output
    assert re.search(r"surge +17.5 N +0.87[78] m/s +0.878 +[+-]0.0\d%", outcome.stdout)
    assert "rises at 0.173 m/s" in outcome.stdout
    assert ink(tmp_path / "drop.png") > 0.02


def test_bench_plant_writes_its_figures(tmp_path: Path) -> None:
    outcome = run("bench", "plant", "--quick", "--json", tmp_path / "bench.json")
    assert outcome.exit_code == 0, outcome.output
    (result,) = json.loads((tmp_path / "bench.json").read_text())
    rows = {row["label"]: row["value"] for row in result["rows"]}
    assert min(rows["compiled"], rows["CasADi VM"], rows["plain numpy"]) > 0  # how much faster is the machine's matter
    assert rows["compiled against numpy"] == pytest.approx(rows["compiled"] / rows["plain numpy"])
    assert rows["largest difference after 1 s"] < 1e-12
