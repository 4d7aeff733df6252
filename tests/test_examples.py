"""Every example runs, and shows what it claims to show; a user's own controller runs everywhere by its name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
MINE = "my_controller:MyController"

WORDS = {  # what the output must have
    "hello_fleet": ("passed", "default, loss=0.7", "distance_min_m", "rov2"),
    "my_controller": (MINE, "False"),
    "my_task": ("everybody at 7 m", "reached_s="),
    "my_metric": ("unit='m/s'", "bound=1.5 failed=False"),
    "my_condition": ("my_condition, loss=0.9, mass_scale=1.1", "neighbour_age_max_s"),
    "my_vehicle": ("hexa: 6 thrusters, 15 kg", "{'hexa': 6, 'heavy': 8} passed"),
}


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p and Path(p) != EXAMPLES)}
    command = (sys.executable, *map(str, command))
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def shoal(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return run("-m", "shoal.cli", *arguments, folder=folder)


def test_every_example_is_in_the_list() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.py")} == set(WORDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORDS)
def test_example_runs_and_is_short(name: str, tmp_path: Path) -> None:
    file = EXAMPLES / f"{name}.py"
    assert 20 <= len(file.read_text(encoding="utf-8").splitlines()) <= 60
    done = run(file, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in WORDS[name]:
        assert words in done.stdout, done.stdout
    assert "reached_s=None" not in done.stdout
    if name == "hello_fleet":
        with Image.open(tmp_path / "hello_fleet.png") as picture:
            assert len(picture.convert("RGB").getcolors(maxcolors=1_000_000) or ()) > 50


@pytest.mark.slow
def test_one_s_own_controller_in_the_simulator_by_either_name(tmp_path: Path) -> None:
    for name, folder in ((MINE, EXAMPLES), (f"examples.{MINE}", ROOT)):
        done = shoal("simulate", "--controller", name, "--duration", "3", "--json", folder=folder)
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert summary["controller"] == name and summary["metrics"]["fallbacks"]["value"] == 0
    done = shoal("simulate", "--controller", MINE, "--duration", "3", "--set", "controller.stiffness_per_s2=3",
                 "--out", tmp_path / "run", folder=EXAMPLES)  # fmt: skip
    assert f"{MINE}, stiffness_per_s2=3" in done.stdout.splitlines()[0]
    about = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert about["controller"] == f"{MINE}, stiffness_per_s2=3"


@pytest.mark.slow
def test_one_s_own_controller_in_a_campaign_and_every_table_names_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"paths: [circle]\ncontrollers: [pid, '{MINE}']\nmetrics: ['my_metric:SPEED']\nruns: 1\nduration_s: 12\n"
        "vary: {link.loss: [0, 0.5]}\nrecord: none\n"
    )
    out = tmp_path / "out"
    done = shoal("campaign", "run", file, "--workers", "1", "--out", out, folder=EXAMPLES)
    assert done.returncode == 0 and "4 runs, 4 made now" in done.stdout, done.stderr + done.stdout
    rows = pd.read_parquet(out / "runs.parquet")
    assert not rows.crashed.any(), rows.failure.tolist()
    assert rows.controller.value_counts().to_dict() == {"pid": 2, MINE: 2}
    assert rows.speed_max_mps.gt(0).all() and (rows.speed_max_mps_bound == 1.5).all()
    assert shoal("campaign", "report", out, folder=tmp_path).returncode == 0  # elsewhere, without the user's modules
    text = (out / "summary.md").read_text(encoding="utf-8")
    tables = [part for part in text.split("\n## ") if "\n|---" in part]
    assert len(tables) >= 6 and any("largest speed [m/s]" in table for table in tables)
    for table in tables:
        lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
        assert sum(MINE in line for line in lines) == len(lines) / 2, table


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs_from_top_to_bottom(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell in one namespace, as a kernel does; stored without outputs, so that none of them is out of date."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    content = json.loads(notebook.read_text(encoding="utf-8"))
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 3 and not any(cell["outputs"] for cell in cells)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"{notebook.name}[{number}]", "exec"), namespace)
    table, closest = namespace["table"], namespace["closest"]
    assert isinstance(table, pd.DataFrame) and len(table) == 6 and not table.failed.any()
    assert len(closest) == 3  # type: ignore[arg-type]
