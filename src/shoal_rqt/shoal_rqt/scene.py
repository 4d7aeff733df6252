"""A FleetModel as it would be in the middle of a simulated run: for pictures and tests of the window without ROS."""

from __future__ import annotations

import numpy as np

from shoal.fleet.file import Fleet
from shoal.messages.health import Mode
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.recordings.recording import RunRecord
from shoal_rqt import updates
from shoal_rqt.model import FleetModel

AHEAD_S = 4.0  # of the reference


def model_at(record: RunRecord, fleet: Fleet, t_s: float, wall_s: float) -> FleetModel:
    """All that the nodes of that run would have told by then."""
    model = FleetModel(fleet)
    now = int(np.searchsorted(record.times_s, t_s))
    for k in range(0, now + 1, 2):
        for i, name in enumerate(record.names):
            model.vehicle(name).trail.add(record.states[k, i, :3])
    model.take(updates.ClockUpdate(t_s), wall_s)
    _tell_fleet(model, record, now, wall_s)
    for i, name in enumerate(record.names):
        _tell_vehicle(model, record, now, i, name, wall_s)
    nodes = {f"/{name}/mpc" for name in record.names} | {"/dynamics", "/guidance", "/relay", "/recorder"}
    model.take(updates.GraphUpdate(record.names, frozenset(nodes), stick=True), wall_s)
    return model


def _tell_fleet(model: FleetModel, record: RunRecord, now: int, wall_s: float) -> None:
    ahead = np.flatnonzero((record.times_s >= record.times_s[now]) & (record.times_s <= record.times_s[now] + AHEAD_S))
    preview = Preview(record.times_s[ahead], record.reference_m[ahead], record.reference_velocity_mps[ahead])
    model.take(updates.ReferenceUpdate(preview), wall_s)
    offsets = {n: record.slots_m[now, i] - record.reference_m[now] for i, n in enumerate(record.names)}
    sight = tuple((record.names[a], record.names[b]) for a, b in record.must_see)
    model.take(updates.FormationUpdate(Placement(offsets, 1.0, None, 0.0, record.names), sight), wall_s)


def _tell_vehicle(model: FleetModel, record: RunRecord, now: int, i: int, name: str, wall_s: float) -> None:
    t_s, mode = float(record.times_s[now]), Mode(int(record.mode[now, i]))
    model.take(updates.OdometryUpdate(name, Odometry(t_s, record.states[now, i])), wall_s)
    model.take(updates.ThrustUpdate(name, record.thrust_N[now, i]), wall_s)
    last = int(np.searchsorted(record.plan_times_s, t_s, side="right")) - 1
    stamp_s, points = float(record.plan_times_s[last]), record.plans_m[last, i]
    model.take(
        updates.PlanUpdate(name, Plan(name, 1, t_s - 0.05, stamp_s + record.plan_dt_s, points, points * 0)), wall_s
    )
    words = "following" if mode is Mode.NMPC else mode.name.lower().replace("_", " ")
    values = {"mode": mode.name.lower(), "reason": "", "solve_ms": f"{record.solve_ms[now, i]:.4g}", "overruns": "0"}
    level = 0 if mode is Mode.NMPC else 1
    model.take(updates.DiagnosticUpdate(f"shoal: {name} controller", name, level, words, values), wall_s)
