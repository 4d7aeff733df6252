"""Recovery: two vehicles thrown in anyhow must find back into sight and distance, without help."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.campaigns.job import Job
from shoal.guidance.formation import Formation
from shoal.messages.geometry import distances_m, fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY
from shoal.recordings.recording import RunRecord
from shoal.simulation.conditions import Condition
from shoal.simulation.scenario import RunSpec, Scenario, build_scenario
from shoal.simulation.simulator import FleetSimulator, make_controllers
from shoal.simulation.water import Constant
from shoal.tasks.still import still_path, still_preview

Array = NDArray[np.float64]
DEPTH_M = 8.0
CURRENT_MPS = 0.5
FASTEST_MPS = 0.5
NEAREST_M, FARTHEST_M = 0.8, 6.0
GOAL = "back within the soft limits"
CLOSE_ENOUGH_M = 0.05  # below the soft distance still counts as back: odometry noise of 2 cm on either side


def build_recovery(condition: Condition, seed: int, duration_s: float, period_s: float) -> Scenario:
    """Any attitude, 0.8–6 m apart, moving, in a current from anywhere; goals: a formation around their middle."""
    scenario = build_scenario(RunSpec("circle", "two", condition, seed, "nmpc", duration_s, period_s))
    rng = np.random.default_rng([seed, 77])
    middle = np.array([0.0, 0.0, DEPTH_M]) + rng.uniform(-1, 1, 3)
    states = scenario.plant.states
    states[:] = 0.0
    half = _direction(rng) * rng.uniform(NEAREST_M, FARTHEST_M) / 2
    for state, side in zip(states, (1.0, -1.0), strict=True):
        state[POSITION] = middle + side * half
        q = rng.standard_normal(4)
        state[ATTITUDE] = q / np.linalg.norm(q)
        state[VELOCITY] = _direction(rng) * rng.uniform(0, FASTEST_MPS)
    current = _direction(rng)
    current[2] *= 0.5
    scenario.plant.current = Constant((CURRENT_MPS * current / np.linalg.norm(current)).tolist())
    times = scenario.common.times_s
    scenario.common = still_preview(middle, times)
    scenario.path = still_path(middle, duration_s)
    slots = Formation(kind="point", spacing_m=scenario.fleet.formation.spacing_m).assign(
        scenario.fleet.names, states[:, POSITION], middle
    )
    scenario.slots = {name: slots.place(name, scenario.common) for name in scenario.fleet.names}
    return scenario


def simulate_recovery(job: Job) -> RunRecord:
    """A campaign's job; its goal is reached when the soft limits hold for good."""
    scenario = build_recovery(job.condition, job.seed, job.duration_s or 30.0, job.control_period_s or 0.05)
    record = FleetSimulator(scenario, make_controllers(scenario)).run()
    return replace(record, meta={**record.meta, "goal": GOAL, "goal_s": recovered_s(record)})


def recovered_s(record: RunRecord) -> float | None:
    """When the last violation of a soft limit ended; None when it never did."""
    angle = fov_angles_deg(record.states, record.must_see).max(axis=1)
    distance = distances_m(record.states).min(axis=1)
    out = (angle > record.limits.fov_soft_deg) | (distance < record.limits.distance_soft_m - CLOSE_ENOUGH_M)
    if out[-1]:
        return None
    return float(record.times_s[np.flatnonzero(out)[-1] + 1]) if out.any() else 0.0


def _direction(rng: np.random.Generator) -> Array:
    v = rng.standard_normal(3)
    return np.asarray(v / np.linalg.norm(v))
