"""Vessels assemble themselves in the simulator: real controllers, hulls, magnets, offsets; nobody helps."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.fleet.reference_tracker import ReferenceTracker
from shoal.messages.joining import Ownership
from shoal.messages.preview import track_preview
from shoal.messages.track import SurfaceTrack
from shoal.platform.berth import Phase
from shoal.platform.blueprint import load_blueprint
from shoal.platform.jobs import Approach, Grid
from shoal.platform.manager import FleetManager
from shoal.platform.memory import ManagerMemory, remembered, restore
from shoal.platform.model import PlanarPose
from shoal.platform.planner import Berthing, building_order
from shoal.platform.wrecks import free_site, unblocked
from shoal.recordings import codec
from shoal.simulation.command_queue import CommandQueue
from shoal.simulation.conditions import Condition, Fault, load_condition
from shoal.tasks.assemble import Assemble, placement_of
from shoal.tasks.run import RunSpec, build_run, simulate

SIZE_M = (0.38, 0.20)


class Mission:
    """A run of three vessels; at every tick, whose commands each of them obeys, and how long ago the last one came."""

    def __init__(self, settings: dict[str, Any], condition: str | Condition = "tank_offsets", seed: int = 107) -> None:
        self.run = build_run(
            RunSpec(fleet="vessels3", condition=condition, task="assemble", task_settings=settings, seed=seed)
        )
        assert isinstance(self.run.task, Assemble)
        self.task, self.simulator, self.world = self.run.task, self.run.simulator, self.run.simulator.world
        self.owners: list[tuple[float, dict[str, str]]] = []
        self.longest_silence_s = 0.0
        self.thrust_N: list[tuple[float, float]] = []

    def go(self, until_s: float | None = None) -> None:
        for _ in self.simulator.ticks():
            t_s, queues = self.world.t_s, self.world.queues
            self.owners.append((t_s, {n: q.owner.owner for n, q in queues.items() if q.owner is not None}))
            silent_s = [t_s - (q.arrived_s or 0.0) for q in queues.values()]
            self.longest_silence_s = max(self.longest_silence_s, *silent_s)
            self.thrust_N.append((t_s, max(float(np.abs(q.acting(t_s)).max()) for q in queues.values())))
            if self.task.finished(t_s, self.world.states) or (until_s is not None and t_s >= until_s):
                return


def test_three_vessels_become_one_and_part_again() -> None:
    mission = Mission({"duration_s": 120.0, "part": True})
    task, world, director = mission.task, mission.world, mission.task._director
    whole: list[float] = []
    for _ in mission.simulator.ticks():
        if world.groups and set(world.groups[0]) == set(world.names):
            whole.append(world.t_s)
            told = {o.owner for o in mission.simulator.owners.values()}
        if task.finished(world.t_s, world.states):
            break
    assert director is not None and director.done_s is not None and director.over_s is not None
    assert whole and whole[-1] >= director.done_s  # the water agrees, until they part
    assert len(told) == 1  # one controller had all three
    assert {n: o.owner for n, o in mission.simulator.owners.items()} == {n: n for n in world.names}  # and now its own
    assert not world.groups
    gaps = [float(np.linalg.norm(a - b)) for a, b in combinations(world.states[:, :2], 2)]
    assert min(gaps) > 0.5
    assert task.hardest_contact_mps <= 0.03
    assert [event.what for event in task.manager.events].count("joined") == 2


def test_a_pilot_that_dies_is_replaced_and_nobody_is_owned_twice_or_not_at_all() -> None:
    """The first member flies the platform; its controller dies for good once all are joined."""
    base = load_condition("tank_offsets")
    dies = base.model_copy(update={"faults": (Fault(vehicle=0, kind="reboot", from_s=60.0, to_s=70.0),)})
    mission = Mission({"duration_s": 75.0, "follow_s": 60.0}, dies)
    mission.go(75.0)
    world = mission.world
    assert set(world.groups[0]) == set(world.names)
    before = [o for t, o in mission.owners if 58.0 < t < 60.0]
    after = [o for t, o in mission.owners if t > 62.0]
    assert {owner for o in before for owner in o.values()} == {"vessel1"}
    assert {owner for o in after for owner in o.values()} == {"vessel2"}  # also after its return
    assert mission.longest_silence_s <= 2.0
    for t_s, owners in mission.owners:  # one owner of each joined body, but for the moment of a change
        if t_s > 45.0 and not 60.0 <= t_s <= 62.0:
            assert len(set(owners.values())) == 1, t_s


def test_an_owner_of_the_past_is_not_obeyed() -> None:
    queue = CommandQueue(1, 0.0, 0.5)
    queue.command(1.0, 1.0, np.array([0.1]), Ownership("v2", 3, 1))
    queue.command(1.1, 1.1, np.array([0.9]), Ownership("v1", 3, 0))  # replaced as pilot
    queue.command(1.1, 1.1, np.array([0.9]), Ownership("v1", 2, 7))  # of another assembly
    queue.command(1.1, 1.1, np.array([0.9]), Ownership("v3", 3, 1))  # claims the same count
    assert queue.acting(1.2) == pytest.approx([0.1]) and queue.refused == 3
    queue.command(1.3, 1.3, np.array([0.2]), Ownership("v1", 4, 0))
    assert queue.acting(1.3) == pytest.approx([0.2])


def test_stop_while_berthing_and_release() -> None:
    """Zero thrust for all while it holds; whoever berthed starts over from the stand-off, and ends well."""
    script = [{"at_s": 19.0, "do": "stop"}, {"at_s": 29.0, "do": "release"}]
    mission = Mission({"duration_s": 120.0, "script": script})
    mission.go()
    assert max(thrust for t, thrust in mission.thrust_N if 19.2 < t < 28.9) == 0.0
    events = [(e.t_s, e.what) for e in mission.task.manager.events]
    assert (pytest.approx(19.0, abs=0.15), "stopped") in events
    assert not [what for t, what in events if 19.1 < t < 28.9]  # nothing goes on meanwhile
    director = mission.task._director
    assert director is not None and director.done_s is not None and director.done_s > 29.0
    assert not mission.task.manager.failed


def told(manager: FleetManager, latched: set[str]) -> dict[str, Ownership]:
    """Everybody obeys itself, members the first of them."""
    first = min(manager.members, default="")
    return {n: Ownership(first if n in manager.members else n, manager.counter) for n in manager._names}


def perfect(
    manager: FleetManager, dead: str | None = None, seconds: float = 400.0, told: Any = told, dies_s: float = 0.0
) -> None:
    """Vessels that do at once what they are asked, and whose magnets hold."""
    names = manager._names
    poses = {n: PlanarPose(2.0 * np.cos(i), 2.0 * np.sin(i)) for i, n in enumerate(names)}
    poses |= {n: manager.site.then(manager.place(cell)) for n, cell in manager.members.items()}
    latched = set(manager.members)
    for k in range(round(seconds / 0.1)):
        manager.hear(0.1 * k, False, told(manager, latched))
        tracks = manager.step(0.1 * k, poses)
        for name, track in tracks.items():
            if name in manager.members:  # with the platform, wherever that is to be
                off = track.pose.position_m - poses[name].position_m
                x, y = poses[name].position_m + off * min(1.0, 0.02 / max(float(np.linalg.norm(off)), 1e-9))
                poses[name] = PlanarPose(float(x), float(y))
            if (name == dead and 0.1 * k >= dies_s) or name in latched:
                continue
            here, goal = poses[name].position_m, track.pose.position_m
            x, y = here + (goal - here) * min(1.0, 0.05 / max(float(np.linalg.norm(goal - here)), 1e-9))
            for approach in manager.approaches:
                berth = approach.berth if approach.vessel == name else None
                if berth is not None and berth._wanted.out_m < 0 and berth.phase in (Phase.APPROACH, Phase.SEARCH):
                    x, y = manager.site.then(manager.place(approach.plan.cell)).position_m
                    latched.add(name)
            poses[name] = PlanarPose(float(x), float(y))
        latched &= set(manager.members) | {a.vessel for a in manager.approaches}
        if manager.finished:
            manager.hear(0.1 * k + 0.1, False, told(manager, latched))
            return


@pytest.mark.parametrize("name", ["row3", "block3x4", "tee", "ring", "row12"])
def test_the_manager_builds_every_blueprint(name: str) -> None:
    cells = load_blueprint(name).cells
    manager = FleetManager(tuple(f"v{i}" for i in range(len(cells))), cells, SIZE_M, PlanarPose())
    perfect(manager)
    assert manager.complete
    assert len(manager.joints) == len(cells) - 1
    assert not manager.failed


@pytest.mark.parametrize("name", ["block3x4", "tee", "ring", "row12", "block4x5"])
def test_the_way_to_every_cell_touches_no_hull(name: str) -> None:
    """Also into the corner of a ring, where berthing begins between hulls."""
    founder, rounds = building_order(load_blueprint(name).cells)
    grid, filled, site = Grid(founder, SIZE_M), {founder}, PlanarPose()
    for group in rounds:
        at = np.array([grid.place(cell).position_m for cell in filled])
        box = grid.box(site, filled, 0.35)
        for plan in group:
            for angle in np.linspace(0, 2 * np.pi, 7):
                start = PlanarPose(4 * np.cos(angle), 4 * np.sin(angle))
                approach = Approach("v", plan, 0.0)
                approach.transit(grid, site, 0.45, start, box)
                corners = np.array([start.position_m, *(approach.way or [])])
                for a, b in pairwise(corners):
                    along = a + np.linspace(0, 1, 200)[:, None] * (b - a)
                    off = np.abs(along[:, None] - at[None]) - np.array(SIZE_M)  # overlap where both are negative
                    assert not (off < -1e-3).all(axis=2).any(), (plan, angle)
        filled |= {plan.cell for plan in group}


def test_nothing_new_begins_while_ownership_is_disputed() -> None:
    """Also after the last round: a platform that two controllers claim is not complete."""
    cells = load_blueprint("block3x4").cells
    manager = FleetManager(tuple(f"v{i}" for i in range(12)), cells, SIZE_M, PlanarPose())

    def disputed(manager: FleetManager, latched: set[str]) -> dict[str, Ownership]:
        return {n: Ownership(n, manager.counter) for n in manager._names}

    perfect(manager, told=disputed, seconds=120.0)
    assert manager.rounds_begun == 1 and not manager.complete
    assert any("no single owner" in event.what for event in manager.events)


def test_a_block_is_reshaped_into_a_ring_and_taken_apart() -> None:
    cells = load_blueprint("block3x4").cells
    manager = FleetManager(tuple(f"v{i}" for i in range(12)), cells, SIZE_M, PlanarPose())
    perfect(manager)
    manager.reshape(load_blueprint("ring").cells)
    perfect(manager, seconds=600.0)
    assert manager.complete and not manager.failed
    assert sum(e.what.startswith("leaves") for e in manager.events) == 7
    manager.part()
    perfect(manager, seconds=600.0)
    assert len(manager.members) == 1 and not manager.failed


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


@pytest.mark.parametrize("dies_s", [0.0, 3.2, 5.2])
def test_who_dies_on_the_way_is_noticed_soon_and_the_spare_gets_past_it(dies_s: float) -> None:
    """Wherever it lies; where that is in the way into the berth the platform moves aside."""
    cells = load_blueprint("row3").cells
    names = ("v0", "v1", "v2", "v3")
    first = FleetManager(names, cells, SIZE_M, PlanarPose())
    perfect(first, seconds=0.2)
    dead = next(a.vessel for a in first.approaches)
    manager = FleetManager(names, cells, SIZE_M, PlanarPose())
    perfect(manager, dead, dies_s=dies_s)
    given_up = [e for e in manager.events if "given up" in e.what]
    assert [e.vessel for e in given_up] == [dead] and manager.wrecks == {dead}
    assert given_up[0].t_s < dies_s + manager.settings.stuck_s + 4.0
    assert manager.complete and dead not in manager.members
    assert any("moves aside" in e.what for e in manager.events) is (dies_s > 0.0)


def test_a_wreck_in_the_way_moves_the_platform_just_so_far_that_the_way_is_free() -> None:
    grid, plan = Grid((0, 0), SIZE_M), Berthing((0, 1), (0, -1), None)
    wreck, bystander = PlanarPose(0.0, 0.6), PlanarPose(1.0, 0.0)
    site, box = PlanarPose(), (-0.54, -0.45, 0.54, 0.65)
    assert unblocked(grid, site, [plan], 0.45, [wreck]) == []
    moved = free_site(grid, site, [plan], box, 0.45, [wreck], [wreck, bystander])
    assert moved is not None and unblocked(grid, moved, [plan], 0.45, [wreck]) == [plan]
    assert 0.2 < np.hypot(moved.x_m, moved.y_m) < 1.0 and moved.x_m < 0.5  # away from the wreck, not at the bystander
    walls = [PlanarPose(1.2 * np.cos(a), 1.2 * np.sin(a)) for a in np.linspace(0, 2 * np.pi, 24)]
    assert free_site(grid, site, [plan], box, 0.45, [wreck], [wreck, *walls]) is None


def test_unlike_vessels_join_where_the_blueprint_wants_them() -> None:
    wanted = load_blueprint("cargo_row3").type_of
    types = {"v0": "delfia1_cargo", "v1": "delfia1", "v2": "delfia1", "v3": "delfia1"}
    manager = FleetManager(tuple(types), wanted, SIZE_M, PlanarPose(), types=types)
    perfect(manager, seconds=0.2)
    dead = next(a.vessel for a in manager.approaches if types[a.vessel] == "delfia1")
    again = FleetManager(tuple(types), wanted, SIZE_M, PlanarPose(), types=types)
    perfect(again, dead)  # its spare is of its type
    assert again.complete and {cell: types[name] for name, cell in again.members.items()} == wanted
    text = remembered(again).model_dump_json()
    restored = FleetManager(tuple(types), wanted, SIZE_M, PlanarPose(), types=types)
    restore(restored, ManagerMemory.model_validate_json(text), 60.0)
    assert restored.wanted == again.wanted and restored.wrecks == {dead}
    corner = {(0, 0): "delfia1", (0, 1): "delfia1", (1, 0): "delfia1_cargo"}
    again.reshape(corner)
    perfect(again, dead)
    assert again.complete
    assert next(c for n, c in again.members.items() if n == "v0") == next(
        c for c, k in again.wanted.items() if "cargo" in k
    )


def test_too_few_or_other_vessels_are_refused() -> None:
    with pytest.raises(ShoalError, match="12 cells and fleet 'vessels3' 3 vehicles"):
        simulate(RunSpec(fleet="vessels3", task="assemble", task_settings={"blueprint": "ring"}))
    with pytest.raises(ShoalError, match="is a bluerov2_heavy; expected delfia1"):
        simulate(RunSpec(fleet="three", task="assemble"))
    with pytest.raises(ShoalError, match="1 cells for a delfia1_cargo and fleet 'vessels3' 0 of them"):
        simulate(RunSpec(fleet="vessels3", task="assemble", task_settings={"blueprint": "cargo_row3"}))
    with pytest.raises(ShoalError, match="platform 'ring': has 12 cells, the platform 3 vessels"):
        simulate(RunSpec(fleet="vessels3", task="assemble", task_settings={"into": "ring"}))


def test_a_manager_that_died_is_followed_by_one_that_knows_all_it_ordered() -> None:
    """Also in the middle of reshaping; a vessel that latched meanwhile is found to hold."""
    names = tuple(f"v{i}" for i in range(12))
    manager = FleetManager(names, load_blueprint("block3x4").cells, SIZE_M, PlanarPose())
    perfect(manager, seconds=60.0)
    assert manager.approaches or manager.members
    text = remembered(manager).model_dump_json()
    again = FleetManager(names, load_blueprint("block3x4").cells, SIZE_M, PlanarPose())
    restore(again, ManagerMemory.model_validate_json(text), 60.0)
    assert again.members == manager.members and again.counter == manager.counter
    assert [a.vessel for a in again.approaches] == [a.vessel for a in manager.approaches]
    assert all(a.berth is None or a.berth.phase is Phase.BACK_OFF for a in again.approaches)
    perfect(again, seconds=600.0)
    assert again.complete and not again.failed


def test_a_reference_with_tracks_never_falls_back_to_the_formation() -> None:
    """All places of the manager's formation are one point: whoever has no track holds."""
    tracks = {"v1": SurfaceTrack(1.0, 2.0, 0.3, 0.01, 0.0)}
    reference = replace(track_preview(5.0, SurfaceTrack(0.0, 0.0, 0.0)), tracks=tracks)
    reference = codec.preview_from_bytes(codec.preview_to_bytes(reference, 5.0))
    for name, known in (("v1", True), ("v2", False)):
        tracker = ReferenceTracker(name, 1.5)
        tracker.on_reference(reference)
        tracker.on_formation(placement_of(("v1", "v2")))  # late
        assert (tracker.missing(5.1) is None) is known
        if known:
            directive, _ = tracker.directive(5.1, None, ())
            assert directive.setpoint.positions_m[0] == pytest.approx([1.0, 2.0, 0.0])
    with pytest.raises(ShoalError, match="track=v1"):
        codec._tracks_in(("fleet", "track=v1:nan:0:0"))
