"""Docking, platform and assembly for the guide's pictures: simulated up to the instant that is shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict

from shoal.errors import ShoalError
from shoal.messages.joining import DrawnJoint, Joining
from shoal.tasks.assemble import Assemble
from shoal.tasks.run import Run, RunSpec, build_run
from shoal_rqt import updates
from shoal_rqt.model import FleetModel
from shoal_rqt.platform_status import PlatformStatus
from shoal_rqt.scene import model_at

SEED = 1
CLOSING_GAP_M = 0.75
JOINED_S = 3.0  # after the joint


def scenes(report: Callable[[str], None]) -> Iterator[tuple[str, FleetModel]]:
    """Names and models, made one after the other."""
    report("simulating a docking")
    yield "docking", _docking()
    report("simulating vessels that become a platform")
    yield "platform", _platform()
    report("simulating them until it is complete")
    yield "blueprint", _complete()
    report("simulating two vehicles that are joined")
    yield "joined", _joined()
    report("simulating a square of four")
    yield "assembly", _assembly()


def _stopped_at(spec: RunSpec, there: Callable[[Run], bool]) -> tuple[FleetModel, Run]:
    """The model at the first instant for which `there` is true."""
    run = build_run(spec)
    for _ in run.simulator.ticks():
        if there(run):
            break
    else:
        raise ShoalError(f"picture of task {spec.task}: its instant never came; expected it within the run")
    recording = run.simulator.recording()
    return model_at(recording, run.fleet, float(recording.times_s[-1]), time.monotonic()), run


def _apply(model: FleetModel, *items: updates.Update) -> None:
    for item in items:
        model.apply(item, time.monotonic())


def _docking() -> FleetModel:
    spec = RunSpec(fleet="two", task="dock", condition="default", seed=SEED, duration_s=60.0)

    def closing(run: Run) -> bool:
        order = run.simulator.docking.order
        told = None if order is None else run.simulator.docking.told(order.follower)
        return told is not None and told.phase == "close" and told.gap_m < CLOSING_GAP_M

    model, run = _stopped_at(spec, closing)
    docking = run.simulator.docking
    assert docking.order is not None
    _apply(model, updates.ModeUpdate("task"), updates.DockingOrderUpdate(docking.order))
    _apply(model, *(updates.DockingUpdate(name, docking.told(name)) for name in run.fleet.names))
    return model


VESSELS = RunSpec(fleet="vessels3", task="assemble", condition="tank_offsets", seed=107, duration_s=90.0)


def _platform() -> FleetModel:
    def berthing(run: Run) -> bool:
        manager = run.task.manager if isinstance(run.task, Assemble) else None
        return manager is not None and any(manager.phase_of(name) == "approach" for name in run.fleet.names)

    return _of_vessels(*_stopped_at(VESSELS, berthing))


def _complete() -> FleetModel:
    def over(run: Run) -> bool:
        director = run.task.director_made if isinstance(run.task, Assemble) else None
        return director is not None and director.over_s is not None

    return _of_vessels(*_stopped_at(VESSELS, over))


def _of_vessels(model: FleetModel, run: Run) -> FleetModel:
    """With what the fleet manager says."""
    assert isinstance(run.task, Assemble)
    manager, director = run.task.manager, run.task.director_made
    owners = {name: asdict(owner) for name, owner in run.simulator.owners.items()}
    status = PlatformStatus.model_validate({
        "phases": {name: manager.phase_of(name) for name in run.fleet.names},
        "cells": dict(manager.members), "wanted": sorted(manager.cells), "owners": owners,
        "owned": manager.owned, "complete": manager.complete, "stage": "build",
        "over": director is not None and director.over_s is not None,
    })  # fmt: skip
    _apply(model, updates.ModeUpdate("task"), _joints(run), updates.PlatformUpdate(status))
    return model


def _joined() -> FleetModel:
    spec = RunSpec(path="circle", fleet="two", task="join", condition="default", seed=SEED, duration_s=60.0)
    since: list[float] = []

    def for_a_while(run: Run) -> bool:
        world = run.simulator.world
        if world.assembly.joints and not since:
            since.append(world.t_s)
        return bool(since) and world.t_s > since[0] + JOINED_S

    model, run = _stopped_at(spec, for_a_while)
    _apply(model, updates.ModeUpdate("task"), _joints(run))
    return model


def _assembly() -> FleetModel:
    spec = RunSpec(path="circle", fleet="square", condition="default", seed=SEED, duration_s=12.0)
    return _stopped_at(spec, lambda run: run.simulator.world.t_s > 11.0)[0]


def _joints(run: Run) -> updates.AssemblyUpdate:
    joints = run.simulator.world.assembly.joints
    partners = run.task.manager.partners if isinstance(run.task, Assemble) else ()
    drawn = tuple(DrawnJoint(j.a, j.b, j.at_a_m, j.at_b_m, j.attitude) for j in joints)
    return updates.AssemblyUpdate(Joining(1, drawn, partners))
