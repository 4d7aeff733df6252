"""Antipodal exchange: vehicles on a circle, each bound for the opposite point, nobody to see. A test of give-way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.campaigns.job import Job
from shoal.fleet.file import Fleet
from shoal.fleet.generate import ring_fleet
from shoal.messages.state import POSITION
from shoal.recordings.recording import RunRecord
from shoal.simulation.conditions import Condition
from shoal.simulation.scenario import RunSpec, Scenario, build_scenario
from shoal.simulation.simulator import FleetSimulator, make_controllers
from shoal.tasks.still import still_path, still_preview

GOAL = "everyone at the opposite point"
DEPTH_M = 8.0
ARRIVED_M, STAY_S = 0.5, 2.0
SMALLEST_RADIUS_M = 5.0
ROOM_M = 2.6  # between neighbours on the circle
JITTER_M = 0.3  # of the start points, drawn from the seed; seed 0 is exactly symmetric


def exchange_fleet(count: int) -> tuple[Fleet, float]:
    """The fleet, blind, and the circle's radius."""
    radius = max(SMALLEST_RADIUS_M, ROOM_M / (2 * np.sin(np.pi / count)))
    base = ring_fleet(count)
    return base.model_copy(
        update={"name": f"exchange{count}", "sight": base.sight.model_copy(update={"topology": "none"})}
    ), radius


def build_exchange(
    count: int, condition: Condition, seed: int, duration_s: float, period_s: float, controller: str = "nmpc"
) -> Scenario:
    """All on a circle at one depth, headings inward, goals at the opposite points."""
    fleet, radius = exchange_fleet(count)
    spec = RunSpec("circle", "exchange", condition, seed, controller, duration_s, period_s)
    scenario = build_scenario(spec, fleet)
    rng = np.random.default_rng([seed, 9])
    angle = 2 * np.pi * np.arange(count) / count
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(count, DEPTH_M)], axis=1)
    start = ring + (JITTER_M * rng.uniform(-1, 1, (count, 3)) if seed > 0 else 0.0)
    states = scenario.plant.states
    states[:] = 0.0
    states[:, POSITION] = start
    states[:, 3], states[:, 6] = np.cos((angle + np.pi) / 2), np.sin((angle + np.pi) / 2)
    times = scenario.common.times_s
    center = np.array([0.0, 0.0, DEPTH_M])
    scenario.common = still_preview(center, times)
    scenario.path = still_path(center, duration_s)
    scenario.slots = {
        name: still_preview(2 * center - ring[i], times, float(angle[i] + np.pi)) for i, name in enumerate(fleet.names)
    }
    return scenario


def _run(scenario: Scenario) -> RunRecord:
    """To the end of the time, or until everyone has stood at the opposite point for a while."""
    simulator = FleetSimulator(scenario, make_controllers(scenario))
    goals = np.array([scenario.slots[name].positions_m[0] for name in scenario.fleet.names])
    wanted, stood = round(STAY_S / scenario.spec.control_period_s), 0
    for _ in simulator.ticks():
        gaps = np.linalg.norm(scenario.plant.states[:, POSITION] - goals, axis=1)
        stood = stood + 1 if gaps.max() < ARRIVED_M else 0
        if stood > wanted:
            break
    return simulator.record()


def simulate_exchange(job: Job) -> RunRecord:
    """A campaign's job: `fleet` is the number of vehicles."""
    scenario = build_exchange(
        int(job.fleet), job.condition, job.seed, job.duration_s or 90.0, job.control_period_s or 0.05, job.controller
    )
    record = _run(scenario)
    gaps = np.linalg.norm(record.states[:, :, POSITION] - record.slots_m, axis=2)  # (T,V)
    inside = gaps.max(axis=1) < ARRIVED_M
    last_out = np.flatnonzero(~inside)
    goal_s = None
    if inside[-1]:
        goal_s = float(record.times_s[last_out[-1] + 1]) if len(last_out) else 0.0
    return replace(record, meta={**record.meta, "goal": GOAL, "goal_s": goal_s})
