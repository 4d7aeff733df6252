"""A running fleet in Rerun: what is drawn of the station's model; and what is said where Rerun is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from shoal.cli import app
from shoal.fleet.file import load_fleet
from shoal.messages.odometry import Odometry
from shoal.reports import rerun_scene
from shoal_rqt import live, updates
from shoal_rqt.live_scene import LiveScene
from shoal_rqt.model import FleetModel

needs_rerun = pytest.mark.skipif(
    not rerun_scene.available(), reason="rerun-sdk is not installed (requirements-view.txt)"
)


def model_at(t_s: float) -> FleetModel:
    """Two who see each other and swim north."""
    model = FleetModel(load_fleet("two"))
    model.sight_pairs = (("rov1", "rov2"), ("rov2", "rov1"))
    model.apply(updates.ClockUpdate(t_s), t_s)
    for name, east, heading in (("rov1", -1.1, 90.0), ("rov2", 1.1, -90.0)):
        half = np.radians(heading) / 2
        place, turn = np.array([0.2 * t_s, east, 5.0]), np.array([np.cos(half), 0.0, 0.0, np.sin(half)])
        odometry = Odometry.of_parts(t_s, place, turn, np.zeros(3), np.zeros(3))
        model.apply(updates.OdometryUpdate(name, odometry), t_s)
    model.apply(updates.TestUpdate({"state": "running", "test": "circle", "t_s": t_s, "duration_s": 130.0}), t_s)
    return model


def printed(file: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rerun", "rrd", "print", "-vvv", str(file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_rerun
def test_the_model_is_drawn_again_and_again_and_a_reset_begins_anew(tmp_path: Path) -> None:
    import rerun as rr

    files: list[Path] = []

    def begin() -> Any:
        files.append(tmp_path / f"{len(files)}.rrd")
        stream = rr.RecordingStream("shoal")
        stream.save(str(files[-1]))
        return stream

    scene = LiveScene(rr, begin)
    for t_s in (1.0, 2.0, 3.0):
        scene.show(model_at(t_s), t_s)
    lost = model_at(3.5)
    scene.show(lost, 3.5 + 60.0)
    scene.show(model_at(0.5), 0.5)  # the plant was reset
    scene._stream.flush()
    first, second = (printed(file) for file in files)
    for entity in ("world/path", "world/rov1/cone", "world/rov2/body", "sight/rov1_rov2", "distance/rov1_rov2",
                   "distance/hard_limit", "depth/rov1", "world/tracks/rov1"):  # fmt: skip
        assert f"/{entity}" in first and f"/{entity}" in second, entity
    assert "rov1 LOST" in first and "LOST" not in second


def test_without_rerun_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerun_scene, "available", lambda: False)
    done = CliRunner().invoke(app, ["live"])
    assert done.exit_code == 2 and "Rerun is not installed" in done.output and "requirements-view.txt" in done.output


def test_mistakes_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    done = CliRunner().invoke(app, ["live", "--save", "film.gif"])
    assert done.exit_code == 2 and "expected a name that ends in .rrd" in done.output
    monkeypatch.setattr(rerun_scene, "sdk", lambda *_: None)
    monkeypatch.setattr(live, "has_display", lambda: False)
    done = CliRunner().invoke(app, ["live"])
    assert done.exit_code == 2 and "no display; expected --web" in done.output


def test_viewers_listen_on_this_machine_alone() -> None:
    for web in (False, True):
        command = rerun_scene.viewer_command("run.rrd", web=web)
        assert command[command.index("--bind") + 1] == "127.0.0.1"
