"""A run made concrete: who swims where, believing what, in which water."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.control.settings import ControllerSettings, Limits
from shoal.fleet.agent import AgentSettings
from shoal.fleet.file import Fleet
from shoal.fleet.generate import resolve_fleet
from shoal.fleet.link import Link
from shoal.fleet.topology import pairs
from shoal.guidance.formation import Formation, Slots
from shoal.guidance.path_file import load_path
from shoal.guidance.paths import Path, preview
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION
from shoal.simulation.conditions import Condition, load_condition
from shoal.simulation.perturbation import controller_vehicle, perturbed
from shoal.simulation.plant import Plant
from shoal.simulation.sensors import OdometrySensor
from shoal.simulation.water import build_current
from shoal.tasks.start import draw_start
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
AHEAD_S = 8.0  # reference kept beyond the end of the run, longer than any horizon
TABLE_STEP_S = 0.1


@dataclass(frozen=True)
class RunSpec:
    """What to simulate; plain values, so that it travels to other processes."""

    path: str
    fleet: str  # number of vehicles, shipped name or file
    condition: str | Condition = "default"
    seed: int = 0
    controller: str = "nmpc"
    duration_s: float | None = None  # None: the path's
    control_period_s: float = 0.05  # the thesis's; waves leave no time to spare
    record_plans_every_s: float = 0.5
    settings: ControllerSettings | None = None  # None: the defaults with the fleet file's limits


@dataclass
class Scenario:
    """Everything a run needs, drawn from its seed."""

    spec: RunSpec
    fleet: Fleet
    condition: Condition
    path: Path
    duration_s: float
    common: Preview  # the setpoint over the whole run
    slots: dict[str, Preview]  # each vehicle's own
    sight: tuple[tuple[str, str], ...]
    plant: Plant
    sensors: list[OdometrySensor]
    link: Link
    models: list[Vehicle]  # what the controllers believe
    agent_settings: AgentSettings


def build_scenario(spec: RunSpec, fleet: Fleet | None = None) -> Scenario:
    """Load the files, draw what the seed decides. `fleet`: one that is no file."""
    fleet = fleet or resolve_fleet(spec.fleet)
    condition = load_condition(spec.condition) if isinstance(spec.condition, str) else spec.condition
    path = load_path(spec.path)
    duration = float(path.duration_s if spec.duration_s is None else spec.duration_s)
    streams = [np.random.default_rng([spec.seed, stream]) for stream in range(5)]
    times = np.arange(0.0, duration + AHEAD_S, TABLE_STEP_S)
    common = preview(path, 0.0, times)
    center = np.asarray(path.position(0.0))
    formation = _formation(fleet, condition)
    file_starts = np.array([m.start_m for m in fleet.vehicles])
    offset = center - file_starts.mean(axis=0) if len(file_starts) > 1 else center - file_starts[0]
    wanted = formation.assign(fleet.names, file_starts + offset, center)
    sight = pairs(fleet.sight.pairs if fleet.sight.topology == "given" else fleet.sight.topology, _order(wanted, fleet),
                  fleet.sight.stride)  # fmt: skip
    index = {name: i for i, name in enumerate(fleet.names)}
    must_see = tuple((index[a], index[b]) for a, b in sight)
    places = np.array([wanted.place(n, common).positions_m[0] for n in fleet.names])
    facing = np.array([_heading(wanted, n, common) for n in fleet.names])
    states = draw_start(places, facing, center, must_see, condition.start, streams[0])
    # Two take the axis they happen to have; more keep the places they were drawn around, and with them the sight pairs.
    slots = formation.assign(fleet.names, states[:, POSITION], center) if len(fleet.names) <= 2 else wanted
    vehicles = [m.vehicle() for m in fleet.vehicles]
    plant = Plant(
        [perturbed(v, condition.plant, streams[1]) for v in vehicles],
        states,
        build_current(condition.environment, streams[2], duration + AHEAD_S),
    )
    sensors = [
        OdometrySensor(condition.sensors, np.random.default_rng([spec.seed, 3, i])) for i in range(len(vehicles))
    ]
    return Scenario(
        spec=spec,
        fleet=fleet,
        condition=condition,
        path=path,
        duration_s=duration,
        common=common,
        slots={n: slots.place(n, common) for n in fleet.names},
        sight=sight,
        plant=plant,
        sensors=sensors,
        link=Link(condition.link, streams[4]),
        models=[controller_vehicle(v, condition.controller_model) for v in vehicles],
        agent_settings=agent_settings(spec, fleet, condition),
    )


def agent_settings(spec: RunSpec, fleet: Fleet, condition: Condition) -> AgentSettings:
    """What the controllers know of delays and limits: the nominal values, never a run's draw."""
    limits = Limits(
        distance_soft_m=fleet.distance.soft_m,
        distance_hard_m=fleet.distance.hard_m,
        sight_soft_deg=fleet.sight.soft_deg,
        sight_hard_deg=fleet.sight.hard_deg,
    )
    count = len(fleet.vehicles)
    backend = "auto" if spec.controller in ("nmpc", "dompc") else spec.controller.removeprefix("nmpc-")
    return AgentSettings(
        controller=spec.settings or ControllerSettings(limits=limits),
        places=max(1, min(count - 1, 4)),
        period_s=spec.control_period_s,
        actuation_delay_s=condition.control_delay_periods * spec.control_period_s,
        thruster_lag_s=sum(condition.plant.thruster_lag_s) / 2,
        backend=backend,
    )


def _formation(fleet: Fleet, condition: Condition) -> Formation:
    chosen = fleet.formation.model_dump(exclude_none=True)
    if condition.formation is not None:
        chosen |= condition.formation.model_dump(exclude_none=True)
    if chosen["kind"] == "ring":
        chosen.pop("offsets_m", None)
        if "radius_m" not in chosen:
            count = max(2, len(fleet.vehicles))
            chosen["radius_m"] = chosen.get("spacing_m", 2.2) / (2 * np.sin(np.pi / count))
        chosen["spacing_m"] = min(chosen.get("spacing_m", 2.0), 2.0)
    else:
        chosen.pop("radius_m", None)
    return Formation(**chosen)


def _order(slots: Slots, fleet: Fleet) -> tuple[str, ...]:
    """Around the ring as they stand, so that a topology's strides are geometric ones."""
    return slots.order if len(slots.order) == len(fleet.names) else fleet.names


def _heading(slots: Slots, name: str, common: Preview) -> float:
    headings = slots.place(name, common).headings_rad
    return 0.0 if headings is None else float(headings[0])
