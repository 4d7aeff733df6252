"""Chains and inspections on ROS as an action: an operator starts them underway, follows them, and cancels them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from std_msgs.msg import String

from shoal.fleet.file import load_fleet
from shoal.frames import tilt_rad
from shoal.messages import topics
from shoal.messages.state import ATTITUDE, POSITION
from shoal.messages.task_order import TaskOrder
from shoal.recordings.bag_reader import read_runs
from shoal.recordings.task_json import order_to_json
from shoal_ros.harness import Harness
from shoal_ros.node_list import fleet_nodes

pytestmark = [pytest.mark.ros, pytest.mark.slow]
BIASED = """
name: biased
sensors: {position_bias_std_m: 0.2, heading_bias_std_deg: 2.0}
link: {rate_hz: 2.0}
"""
CASES = {
    "dock_chain": ("three", {"settle_s": 0.5, "swim_on_s": 0.5}, 2, 75.0),
    "inspect_and_dock": ("two", {"swim_on_s": 0.5}, 1, 45.0),
}


@pytest.mark.parametrize("task", CASES)
def test_started_cancelled_and_started_again(task: str, tmp_path: Path) -> None:
    fleet, settings, dockings, duration_s = CASES[task]
    (tmp_path / "biased.yaml").write_text(BIASED, encoding="utf-8")
    folder = tmp_path / "dive"
    with Harness() as harness:
        harness.follow_clock()
        told, orders = harness.listen(topics.TASK), harness.publisher(topics.SET_TASK)
        specs = fleet_nodes(fleet, task=task, condition=str(tmp_path / "biased.yaml"), seed=25, rate=0.0, lockstep=True,
                            duration_s=duration_s, display=False, record=str(folder))  # fmt: skip
        # The water begins as the task has it, and guidance knows of none: everything is the operator's order.
        specs = [replace(s, parameters={**s.parameters, "task": ""}) if s.name == "guidance" else s for s in specs]
        harness.start(*specs)
        plant = harness.children["/dynamics"]

        def status() -> dict[str, Any]:
            return dict(json.loads(told[-1].data)) if told else {}

        def say(action: str, name: str = "", **changes: object) -> None:
            orders.publish(String(data=order_to_json(TaskOrder(action, name, changes))))  # type: ignore[arg-type]

        def until(what: str, found) -> None:  # type: ignore[no-untyped-def]
            harness.spin(lambda: found() or not plant.running, what, 400.0)
            assert found(), f"{what}: {status()}\n{harness.output()}"

        def phase() -> str:
            return str((status().get("docking") or {}).get("phase", ""))

        until("a clock that goes, and guidance", lambda: harness.t_s > 0.0 and orders.get_subscription_count() > 0)
        say("start", task, **settings)
        until("the first approach", lambda: phase() in ("approach", "align"))
        assert (status()["state"], status()["counter"], status()["of"]) == ("running", 1, dockings), status()
        say("start", task)
        until("a refusal", lambda: f"'{task}' runs" in status()["refused"])
        say("cancel")
        until("the cancel", lambda: status()["state"] == "cancelled")
        say("start", "hold_station")
        until("another refusal", lambda: "expected dock, dock_chain" in status()["refused"])
        assert (status()["state"], status()["done"]) == ("cancelled", 0), status()
        again_s = harness.t_s
        say("start", task, **settings)
        until("the end", lambda: status()["state"] in ("succeeded", "failed"))
        assert (status()["state"], status()["done"], status()["counter"]) == ("succeeded", dockings, 2), status()
        harness.spin(lambda: not plant.running, "the end of the run", 400.0)
        assert plant.code == 0, harness.output()
        assert harness.output().count("has latched onto") == dockings
    (run,) = read_runs(folder, from_s=0.0, to_s=duration_s)
    tilts = np.degrees([tilt_rad(q) for q in run.states[run.times_s > again_s][:, :, ATTITUDE].reshape(-1, 4)])
    last = run.states[run.times_s > run.times_s[-1] - 2.0]
    speeds = np.linalg.norm(np.diff(last[:, :, POSITION], axis=0), axis=2).max() / np.diff(run.times_s).min()
    names = load_fleet(fleet).names
    gaps = [
        np.ptp(np.linalg.norm(last[:, k, POSITION] - last[:, k - 1, POSITION], axis=1)) for k in range(1, len(names))
    ]
    print(f"{task}: largest tilt {tilts.max():.1f}°, at the end {speeds:.2f} m/s")
    assert tilts.max() < 25.0
    assert max(gaps) < 1e-6  # one body
