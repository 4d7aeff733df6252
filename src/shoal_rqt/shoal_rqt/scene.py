"""A FleetModel as it would be in the middle of a simulated run: for pictures and tests of the window without ROS."""

from __future__ import annotations

import numpy as np

from shoal.fleet.file import Fleet
from shoal.messages.health import Mode
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION
from shoal.messages.wording import MODES
from shoal.recordings.recording import Recording
from shoal_rqt import updates
from shoal_rqt.model import FleetModel

AHEAD_S = 4.0  # of the reference


def model_at(run: Recording, fleet: Fleet, t_s: float, wall_s: float) -> FleetModel:
    """All that the nodes of that run would have published by then."""
    model = FleetModel(fleet)
    now = int(np.searchsorted(run.times_s, t_s))
    for k in range(0, now + 1, 2):
        for i, name in enumerate(run.names):
            model.vehicle(name).trail.add(run.states[k, i, POSITION])
    model.apply(updates.ClockUpdate(t_s), wall_s)
    _apply_fleet(model, run, now, wall_s)
    for i, name in enumerate(run.names):
        _apply_vehicle(model, run, now, i, name, wall_s)
    nodes = {f"/{name}/mpc" for name in run.names} | {"/dynamics", "/guidance", "/relay", "/recorder"}
    model.apply(updates.GraphUpdate(run.names, frozenset(nodes), stick=True), wall_s)
    return model


def _apply_fleet(model: FleetModel, run: Recording, now: int, wall_s: float) -> None:
    ahead = np.flatnonzero((run.times_s >= run.times_s[now]) & (run.times_s <= run.times_s[now] + AHEAD_S))
    preview = Preview(run.times_s[ahead], run.reference_m[ahead], run.reference_velocity_mps[ahead])
    model.apply(updates.ReferenceUpdate(preview), wall_s)
    offsets = {n: run.setpoints_m[now, i] - run.reference_m[now] for i, n in enumerate(run.names)}
    sight = tuple((run.names[a], run.names[b]) for a, b in run.must_see)
    model.apply(updates.FormationUpdate(Placement(offsets, 1.0, None, 0.0, run.names, sight)), wall_s)


def _apply_vehicle(model: FleetModel, run: Recording, now: int, i: int, name: str, wall_s: float) -> None:
    t_s, mode = float(run.times_s[now]), Mode(int(run.mode[now, i]))
    model.apply(updates.OdometryUpdate(name, Odometry(t_s, run.states[now, i])), wall_s)
    model.apply(updates.ThrustUpdate(name, run.thrust_N[name][now]), wall_s)
    last = int(np.searchsorted(run.plan_times_s, t_s, side="right")) - 1
    times_s, points = float(run.plan_times_s[last]) + run.plan_dt_s, run.plans_m[last, i]
    model.apply(updates.PlanUpdate(name, Plan(name, 1, t_s - 0.05, times_s, points, points * 0)), wall_s)
    values = {"mode": mode.name.lower(), "reason": "", "solve_ms": f"{run.solve_ms[now, i]:.4g}", "overruns": "0"}
    level = 0 if mode is Mode.CONTROLLER else 1
    model.apply(updates.DiagnosticUpdate(f"shoal: {name} controller", name, level, MODES[mode], values), wall_s)
