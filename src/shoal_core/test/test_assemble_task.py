"""Vessels assemble themselves in the simulator: real controllers, hulls, magnets, offsets; nobody helps."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.platform.blueprint import load_blueprint
from shoal.platform.manager import FleetManager
from shoal.platform.model import PlanarPose
from shoal.tasks.assemble import Assemble
from shoal.tasks.run import RunSpec, build_run, simulate

SIZE_M = (0.38, 0.20)


def test_three_vessels_become_one() -> None:
    spec = RunSpec(
        fleet="vessels3", condition="tank_offsets", task="assemble", task_settings={"duration_s": 90.0}, seed=107
    )
    run = build_run(spec)
    task, world = run.task, run.simulator.world
    assert isinstance(task, Assemble)
    run.simulator.run(None, lambda t_s: task.finished(t_s, world.states))
    outcome = run.recording().outcome
    assert outcome is not None and outcome.reached_s is not None
    assert world.groups and set(world.groups[0]) == set(world.names)
    assert task.hardest_contact_mps <= 0.02
    assert all(task.manager.ledger.owner(name) == task.manager.founder for name in world.names)
    events = [event.what for event in task.manager.events]
    assert events.count("joined") == 2


def perfect(manager: FleetManager, dead: str | None = None, seconds: float = 400.0) -> list[set[str]]:
    """Vessels that do at once what they are asked, and whose magnets hold; the owners seen on the way."""
    names = manager._names
    poses = {n: PlanarPose(2.0 * np.cos(i), 2.0 * np.sin(i)) for i, n in enumerate(names)}
    latched: set[str] = set()
    seen = []
    for k in range(round(seconds / 0.1)):
        tracks = manager.step(0.1 * k, poses)
        for name, track in tracks.items():
            if name == dead or name in latched:
                continue
            here, goal = poses[name].position_m, track.pose.position_m
            x, y = here + (goal - here) * min(1.0, 0.05 / max(float(np.linalg.norm(goal - here)), 1e-9))
            for approach in manager.approaches:
                if approach.vessel == name and approach.berth is not None and approach.berth._wanted.out_m < 0:
                    x, y = manager.site.then(manager.place(approach.plan.cell)).position_m
                    latched.add(name)
            poses[name] = PlanarPose(float(x), float(y))
        owned = [vessel for owner in names for vessel in manager.ledger.owned_by(owner)]
        assert sorted(owned) == sorted(names)
        seen.append(set(owned))
        if manager.finished:
            break
    return seen


@pytest.mark.parametrize("name", ["row3", "block3x4", "tee", "ring", "row12"])
def test_the_manager_builds_every_blueprint(name: str) -> None:
    cells = load_blueprint(name).cells
    manager = FleetManager(tuple(f"v{i}" for i in range(len(cells))), cells, SIZE_M, PlanarPose())
    perfect(manager)
    assert manager.complete
    assert len(manager.joints) == len(cells) - 1
    assert {manager.ledger.owner(v) for v in manager.members} == {manager.founder}


def test_a_dead_vessel_is_replaced_by_the_spare_or_left_out() -> None:
    cells = load_blueprint("row3").cells
    with_spare = FleetManager(("v0", "v1", "v2", "v3"), cells, SIZE_M, PlanarPose())
    perfect(with_spare, seconds=0.2)
    dead = next(a.vessel for a in with_spare.approaches)
    again = FleetManager(("v0", "v1", "v2", "v3"), cells, SIZE_M, PlanarPose())
    perfect(again, dead)
    assert again.complete and dead not in again.members and again.failed == {dead}
    without = FleetManager(("v0", "v1", "v2"), cells, SIZE_M, PlanarPose())
    perfect(without, seconds=0.2)
    dead = next(a.vessel for a in without.approaches)
    alone = FleetManager(("v0", "v1", "v2"), cells, SIZE_M, PlanarPose())
    perfect(alone, dead)
    assert alone.finished and not alone.complete and len(alone.members) == 2


def test_stop_freezes_and_release_goes_on() -> None:
    cells = load_blueprint("row3").cells
    manager = FleetManager(("v0", "v1", "v2"), cells, SIZE_M, PlanarPose())
    perfect(manager, seconds=0.5)
    manager.stop(0.5)
    before = len(manager.events)
    poses = dict.fromkeys(("v0", "v1", "v2"), PlanarPose())
    for k in range(50):
        manager.step(0.5 + 0.1 * k, poses)
    assert len(manager.events) == before
    manager.release()
    perfect(manager)
    assert manager.complete


def test_too_few_or_other_vessels_are_refused() -> None:
    with pytest.raises(ShoalError, match="12 cells and fleet 'vessels3' 3 vehicles"):
        simulate(RunSpec(fleet="vessels3", task="assemble", task_settings={"blueprint": "ring"}))
    with pytest.raises(ShoalError, match="is a bluerov2_heavy; expected delfia1"):
        simulate(RunSpec(fleet="three", task="assemble"))
