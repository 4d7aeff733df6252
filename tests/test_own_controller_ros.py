"""A user's own controller on ROS by its name, without touching our code; recording and verdict name it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from shoal.evaluation.metrics import summarise
from shoal.recordings.bag_reader import read_runs
from shoal_ros.harness import Harness
from shoal_ros.node_list import fleet_nodes

pytestmark = [pytest.mark.ros, pytest.mark.slow]
NAME = "my_controller:MyController"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_a_controller_of_ones_own_swims_on_ros(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))
    with Harness() as harness:
        specs = fleet_nodes("two", path="circle", task="follow_path", controller=NAME, seed=1, rate=0.0, lockstep=True,
                            duration_s=25.0, display=False, record=str(tmp_path / "dive"))  # fmt: skip
        harness.start(*specs)
        plant = harness.children["/dynamics"]
        harness.spin(lambda: not plant.running, "the end of the run", wall_s=200.0)
        lines = harness.children["/rov1/mpc"].lines
        assert any(f"controller {NAME}" in line for line in lines), harness.output()
    (run,) = read_runs(tmp_path / "dive", from_s=0.0, to_s=25.0)
    summary = summarise(run)
    assert summary.controller == run.about.controller == NAME
    error = summary.value("setpoint_error_rms_m")
    assert error is not None and error < 0.3, "it is no NMPC, but it swims"
    assert (run.mode == 0).mean() > 0.95  # it steers, not a fallback
