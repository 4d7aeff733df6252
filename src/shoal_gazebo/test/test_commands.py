"""`shoal gazebo …` through the real command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli import app

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "models/bluerov2_heavy/model.sdf"
run = CliRunner()


def test_generate_writes_then_leaves_alone(tmp_path: Path) -> None:
    first = run.invoke(app, ["gazebo", "generate", "-o", str(tmp_path)])
    assert first.exit_code == 0 and first.output.count("written") == 4
    assert (tmp_path / "models/bluerov2_heavy/model.sdf").read_text() == MODEL.read_text()
    second = run.invoke(app, ["gazebo", "generate", "-o", str(tmp_path)])
    assert second.output.count("unchanged") == 4
    assert run.invoke(app, ["gazebo", "generate", "-o", str(tmp_path), "--check"]).exit_code == 0
    (tmp_path / "worlds/tank.sdf").write_text("")
    stale = run.invoke(app, ["gazebo", "generate", "-o", str(tmp_path), "--check"])
    assert stale.exit_code == 1 and "out of step" in stale.output
    assert (tmp_path / "worlds/tank.sdf").read_text() == "", "--check writes nothing"


def test_generate_another_set_says_what_gazebo_cannot_show(tmp_path: Path) -> None:
    result = run.invoke(app, ["gazebo", "generate", "--set", "ng2024", "-o", str(tmp_path)])
    assert (tmp_path / "models/bluerov2_heavy_ng2024/model.sdf").is_file()
    assert "dive and rise" in result.stderr


def test_check(tmp_path: Path) -> None:
    good = run.invoke(app, ["gazebo", "check", str(MODEL), str(ROOT / "worlds/ocean.sdf")])
    assert good.exit_code == 0, good.output
    assert "thrust matrix" in good.output and "world ocean" in good.output
    bad = tmp_path / "bad.sdf"
    bad.write_text(MODEL.read_text().replace("<mass>13.46<", "<mass>14<"))
    result = run.invoke(app, ["gazebo", "check", str(bad)])
    assert result.exit_code == 2 and "wrong" in result.output


def test_bridge_prints_or_writes(tmp_path: Path) -> None:
    printed = run.invoke(app, ["gazebo", "bridge", "two", "--world", "tank"])
    assert printed.exit_code == 0 and "/world/tank/model/rov2" in printed.output
    assert run.invoke(app, ["gazebo", "bridge", "two", "-o", str(tmp_path)]).exit_code == 0
    assert {p.name for p in tmp_path.iterdir()} == {
        "bridge_shared.yaml",
        "bridge_rov1.yaml",
        "bridge_rov2.yaml",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "submarine"],
        ["bridge", "no_such_fleet"],
        ["bridge", "two", "--world", "pond"],
        ["check", "README.nope"],
    ],
)
def test_mistakes_are_told_in_a_sentence(arguments: list[str]) -> None:
    result = run.invoke(app, ["gazebo", *arguments])
    assert result.exit_code == 2
    assert "expected" in result.stderr and "Traceback" not in result.stderr
