"""Two vehicles as real processes: alone, joined, the pilot's controller killed, parted, alone again."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")

from shoal.fleet.setup import nmpc_controller
from shoal.messages import topics
from shoal.messages.geometry import fov_angles_deg
from shoal.messages.state import POSITION
from shoal.recordings.bag_reader import read_runs
from shoal.tasks.join import Drawing, jump_m
from shoal.tasks.run import RunSpec, build_run
from shoal_ros.harness import Harness
from shoal_ros.node_list import fleet_nodes

pytestmark = [pytest.mark.ros, pytest.mark.slow]
KILL_S, BACK_S, PART_S, END_S = 9.0, 10.5, 12.5, 19.0
QUICK = f"""
from pydantic import Field
from shoal.tasks.join import Join, JoinSettings

class QuickSettings(JoinSettings):
    join_from_s: float = Field(default=2.0)
    part_at_s: float = Field(default={PART_S})
    duration_s: float = Field(default={END_S})
    closing_mps: float = Field(default=0.3)

class QuickJoin(Join):
    Settings = QuickSettings
"""


def test_joined_flown_by_one_taken_over_and_parted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Judged on the plant's truth from the recording; simulated time only, whatever the machine does."""
    (tmp_path / "quick_join.py").write_text(QUICK, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    names = build_run(RunSpec(fleet="two")).task.fleet.names
    # The composite's code is compiled here, not while the vehicles swim.
    build = build_run(RunSpec(fleet="two", task="join", duration_s=1.0))
    build.simulator.run()
    nmpc_controller("nmpc", composite_of(names), 0.05)
    folder = tmp_path / "dive"
    with Harness() as harness:
        harness.follow_clock()
        assemblies = harness.listen(topics.ASSEMBLY)
        commands = {name: harness.listen(topics.GROUP_THRUST, vehicle=name) for name in names}
        specs = fleet_nodes("two", path="circle", task="quick_join:QuickJoin", seed=3, rate=2.0, lockstep=True,
                            duration_s=END_S, display=False, record=str(folder))  # fmt: skip
        harness.start(*specs)
        plant = harness.children["/dynamics"]
        harness.spin(lambda: harness.t_s >= KILL_S or not plant.running, "the time of the kill", 200.0)
        assert commands[names[0]], harness.output()
        assert not commands[names[1]]
        killed = next(spec for spec in specs if spec.full_name == f"/{names[0]}/mpc")
        harness.children[killed.full_name].signal(signal.SIGKILL)
        harness.spin(lambda: harness.t_s >= BACK_S, "the time of the restart", 200.0)
        assert commands[names[1]], harness.output()
        # It is started again, as a supervisor would; the clock stands meanwhile, on a slow machine that takes a while.
        assert harness.set_parameters("/dynamics", {"paused": True}).successful
        harness.start(killed)
        again = harness.children[killed.full_name]
        harness.spin(lambda: any("joined: " in line for line in again.lines), "the restarted controller", 200.0)
        before = len(commands[names[0]])
        assert harness.set_parameters("/dynamics", {"paused": False}).successful
        harness.spin(lambda: not plant.running, "the end of the run", wall_s=300.0)
        output = harness.output()
        assert plant.code == 0, output
    shown = [json.loads(m.data) for m in assemblies]
    assert [s["counter"] for s in shown] == sorted({s["counter"] for s in shown})
    assert [bool(s["joints"]) for s in shown].count(True) == 1
    assert len(commands[names[0]]) == before  # the restarted one listens, and lets the other one fly
    flown = {name: [json.loads(m.data)["stamp_s"] for m in received] for name, received in commands.items()}
    gap_s = flown[names[1]][0] - flown[names[0]][-1]
    assert 0.0 < gap_s <= 1.0, output
    assert f"{names[0]}+{names[1]}" in output and "takes over" in output
    (run,) = read_runs(folder, from_s=0.0, to_s=END_S)
    joined_s = min(flown[names[0]])
    jumps = {t_s: f"{jump_m(run, t_s) * 100:.1f} cm" for t_s in (joined_s, PART_S)}
    print(f"joined at {joined_s:.2f} s, taken over after {gap_s:.2f} s, jumps {jumps}")
    judge(run, joined_s)


def composite_of(names: tuple[str, ...]):  # type: ignore[no-untyped-def]
    from shoal.assembly.file import load_assembly

    assert Drawing("facing", names).joints
    return load_assembly("facing").composite().vehicle


def judge(run, joined_s: float) -> None:  # type: ignore[no-untyped-def]
    t_s, states = run.times_s, run.states
    gaps_m = np.linalg.norm(states[:, 0, POSITION] - states[:, 1, POSITION], axis=1)
    one = (t_s > joined_s + 0.2) & (t_s < PART_S - 0.1)
    assert np.ptp(gaps_m[one]) < 1e-6  # one body, before and after the kill
    assert gaps_m[t_s > END_S - 1.0].min() > gaps_m[one].max() + 0.3  # two again
    assert jump_m(run, joined_s) < 0.05
    assert jump_m(run, PART_S) < 0.05
    off_m = np.linalg.norm(states[:, :, POSITION] - run.setpoints_m, axis=2)
    assert off_m[(t_s > KILL_S) & (t_s < PART_S)].max() < 0.10
    free = t_s < 2.0
    assert gaps_m[free].min() > run.limits.distance_hard_m
    assert fov_angles_deg(states[free], ((0, 1), (1, 0))).max() < run.limits.sight_hard_deg
