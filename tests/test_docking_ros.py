"""Two vehicles dock as real processes: by what cameras publish, with orders, status, cancel and STOP on topics."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")

from std_msgs.msg import Bool, String

from shoal.docking.pilot import bearing_deg
from shoal.fleet.file import load_fleet
from shoal.frames import tilt_rad
from shoal.messages import topics
from shoal.messages.docking import DockingOrder
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.bag_reader import read_runs
from shoal.recordings.docking_json import order_to_json
from shoal.recordings.recording import Recording
from shoal.simulation.conditions import load_condition
from shoal.tasks.base import TaskContext
from shoal.tasks.run import RunSpec, build_run, make_task
from shoal.vehicles.ports import mating
from shoal_ros.harness import Harness
from shoal_ros.node_list import fleet_nodes

pytestmark = [pytest.mark.ros, pytest.mark.slow]
END_S, SWIM_S, SEED = 34.0, 8.0, 5
TASK = f"""
from pydantic import Field
from shoal.tasks.dock import DockTask, DockTaskSettings

class QuickSettings(DockTaskSettings):
    range_m: tuple[float, float] = Field(default=(2.0, 2.0))
    path: str = Field(default="circle")
    swim_on_s: float = Field(default={SWIM_S})
    undock: bool = Field(default=True)

class QuickDock(DockTask):
    Settings = QuickSettings
"""
BIASED = """
name: biased
sensors: {position_bias_std_m: 0.2, heading_bias_std_deg: 2.0}
link: {rate_hz: 2.0, loss: 0.1}
"""


@pytest.fixture
def biased(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A condition whose navigations would miss the port; the task beside it."""
    (tmp_path / "quick_dock.py").write_text(TASK, encoding="utf-8")
    (tmp_path / "biased.yaml").write_text(BIASED, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return str(tmp_path / "biased.yaml")


def ports():  # type: ignore[no-untyped-def]
    vehicle = load_fleet("two").vehicles[0].vehicle()
    found = {p.name: p for p in vehicle.ports}
    return found["stern"], found["bow"]


def test_docks_follows_the_circle_as_one_and_parts(biased: str, tmp_path: Path) -> None:
    """Judged on the plant's truth; simulated time only, whatever the machine does."""
    task = make_task("quick_dock:QuickDock", TaskContext(load_fleet("two"), load_condition(biased), {}, "", SEED))
    names = task.fleet.names
    # The composite's code is compiled here, not while the vehicles swim.
    settings = {"range_m": [2.0, 2.0], "swim_on_s": 0.5, "duration_s": 30.0}
    spec = RunSpec(fleet="two", task="dock", condition=load_condition(biased), seed=SEED, task_settings=settings)
    build = build_run(spec)
    build.simulator.run(None, lambda t_s: build.task.finished(t_s, build.simulator.world.states))
    folder = tmp_path / "dive"
    with Harness() as harness:
        harness.follow_clock()
        told = {name: harness.listen(topics.DOCKING, vehicle=name) for name in names}
        seen = {n: harness.listen(topics.FIDUCIAL, vehicle=n, other=m) for n, m in (names, names[::-1])}
        assemblies = harness.listen(topics.ASSEMBLY)
        specs = fleet_nodes("two", task="quick_dock:QuickDock", condition=biased, seed=SEED, rate=0.0, lockstep=True,
                            duration_s=END_S, display=False, record=str(folder))  # fmt: skip
        harness.start(*specs)
        plant = harness.children["/dynamics"]
        harness.spin(lambda: not plant.running, "the end of the run", 400.0)
        output = harness.output()
        assert plant.code == 0, output
    assert all(len(messages) > 30 for messages in seen.values())
    # A latched topic keeps one message: a phase that is over at once may be missed, but none comes out of turn.
    phases = [phase for phase in phases_of(told[names[1]]) if phase not in ("idle", "accepted", "search")]
    assert phases == [p for p in ("approach", "align", "close", "latched", "leave") if p in phases], output
    assert {"close", "latched", "leave"} <= set(phases), output
    shown = [bool(json.loads(m.data)["joints"]) for m in assemblies]
    assert shown[0] is False and True in shown and shown[-1] is False
    (run,) = read_runs(folder, from_s=0.0, to_s=END_S)
    judge(run, output)


def phases_of(messages: list) -> list[str]:  # type: ignore[type-arg]
    found: list[str] = []
    for phase in (json.loads(m.data)["phase"] for m in messages):
        if not found or found[-1] != phase:
            found.append(phase)
    return found


def judge(run: Recording, output: str) -> None:
    t_s, states, (stern, bow) = run.times_s, run.states, ports()
    gaps_m = np.linalg.norm(states[:, 0, POSITION] - states[:, 1, POSITION], axis=1)
    (line,) = [line for line in output.splitlines() if "has latched onto" in line]
    latched_s = float(line.split(" at ")[1].split(" s:")[0])
    at = mating(stern, states[t_s <= latched_s][-1, 0], bow, states[t_s <= latched_s][-1, 1])
    before = t_s < latched_s
    bearings = [max(bearing_deg(stern, a, bow, b), bearing_deg(bow, b, stern, a)) for a, b in states[before]]
    tilts = np.degrees([tilt_rad(q) for q in states[:, :, ATTITUDE].reshape(-1, 4)])
    print(f"latched at {latched_s:.2f} s: {at.speed_mps:.3f} m/s, {at.angle_deg:.2f}°; bearing {max(bearings):.1f}°, "
          f"tilt {tilts.max():.1f}°")  # fmt: skip
    assert latched_s < 25.0
    assert at.speed_mps <= 0.1 and at.angle_deg <= 2.0 and np.linalg.norm(at.gap_m) < 0.05
    assert max(bearings) <= 22.0
    assert tilts.max() < 15.0
    one = (t_s > latched_s + 0.1) & (t_s < latched_s + SWIM_S - 0.5)
    assert np.ptp(gaps_m[one]) < 1e-6  # one body
    # It has swum along the circle, not only held: as far as the setpoint of its group, and near to it.
    swum_m = np.linalg.norm(np.diff(states[one, 0, POSITION], axis=0), axis=1).sum()
    off_m = np.linalg.norm(states[:, :, POSITION] - run.setpoints_m, axis=2)
    least_s = t_s[gaps_m.argmin()]
    print(f"nearest {gaps_m.min():.3f} m at {least_s:.2f} s; swum {swum_m:.2f} m as one, {off_m[one].max():.2f} m off "
          f"at most; apart at the end {gaps_m[-1]:.2f} m")  # fmt: skip
    assert swum_m > 1.1  # the circle: 1.4 m in that time
    assert gaps_m.min() > 0.55 and gaps_m[-1] > 1.5  # parted, without a bump


def test_cancel_and_stop_end_a_docking(biased: str, tmp_path: Path) -> None:
    """An operator's orders, without a task: the first is cancelled, the second ended by STOP; neither latches."""
    names = load_fleet("two").names
    folder, done = tmp_path / "dive", {"cancel": math.nan, "again": math.nan, "stop": math.nan}
    with Harness() as harness:
        harness.follow_clock()
        told = harness.listen(topics.DOCKING, vehicle=names[1])
        order, stop = harness.publisher(topics.SET_DOCKING), harness.publisher(topics.STOP)

        def say(counter: int, action: str, port: str = "stern") -> None:
            given = DockingOrder(counter, action, names[0], port, names[1], "bow")  # type: ignore[arg-type]
            order.publish(String(data=order_to_json(given)))

        specs = fleet_nodes("two", task="quick_dock:QuickDock", condition=biased, seed=SEED, rate=0.0, lockstep=True,
                            duration_s=26.0, display=False, record=str(folder))  # fmt: skip
        harness.start(*specs)
        plant = harness.children["/dynamics"]

        def phase() -> str:
            return json.loads(told[-1].data)["phase"] if told else ""

        def until(wanted: str) -> None:
            harness.spin(lambda: phase() == wanted or not plant.running, wanted, 200.0)
            assert phase() == wanted, harness.output()

        until("close")
        done["cancel"] = harness.t_s
        say(50, "cancel")
        until("failed")
        assert json.loads(told[-1].data)["reason"] == "cancelled"
        say(51, "dock", "keel")  # there is no such port: refused with a reason, and nothing is lost
        harness.spin(lambda: json.loads(told[-1].data)["refused"] or not plant.running, "the refusal", 60.0)
        assert "expected one of bow, stern" in json.loads(told[-1].data)["refused"], harness.output()
        done["again"] = harness.t_s
        say(52, "dock")
        until("close")
        done["stop"] = harness.t_s
        stop.publish(Bool(data=True))
        until("failed")
        assert json.loads(told[-1].data)["reason"] == "stopped"
        harness.spin(lambda: not plant.running, "the end of the run", 300.0)
        assert plant.code == 0, harness.output()
        assert "has latched" not in harness.output()
    (run,) = read_runs(folder, from_s=0.0, to_s=26.0)
    t_s, states, (stern, bow) = run.times_s, run.states, ports()
    apart = np.array([mating(stern, a, bow, b).closing_m for a, b in states])
    back = (t_s > done["cancel"]) & (t_s < done["again"])
    print(f"{done}; nearest {apart.min():.2f} m, after the cancel {apart[back][-1]:.2f} m")
    assert apart[back][-1] > 0.9  # at the stand-off of 1.1 m
    stopped = t_s > done["stop"] + 1.0
    speeds = np.linalg.norm(states[stopped][:, :, 7:10], axis=2)
    assert np.degrees([tilt_rad(q) for q in states[:, :, ATTITUDE].reshape(-1, 4)]).max() < 15.0
    thrust = [np.abs(one[t_s > done["stop"] + 0.5]).max() for one in run.thrust_N.values()]
    assert max(thrust) == 0.0 and speeds.size
