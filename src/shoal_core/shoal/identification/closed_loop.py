"""What a fit is worth to a controller: one plant, steered with the file's numbers and with the identified ones."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shoal.evaluation.metrics import summarise
from shoal.fleet.file import Fleet
from shoal.identification.excited import excitation_file, fly_simulated
from shoal.identification.fit import fit
from shoal.identification.parameter_set import write_parameter_set
from shoal.simulation.conditions import load_condition
from shoal.simulation.perturbation import perturbed
from shoal.tasks.run import RunSpec, build_run
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal.vehicles.functions import VehicleModel

PATHS, CONDITIONS, SWUM_S = ("circle", "torus"), ("default", "current_05_waves"), 40.0
CELLS = tuple((condition, path) for condition in CONDITIONS for path in PATHS)
METRICS = ("rmse_m", "thrust_rms_N", "thrust_activity_N")


@dataclass(frozen=True)
class Swum:
    """One run each with the file's and with the identified numbers: path error (m), thrust RMS (N) and its change in a
    control period (N), all settled as the metrics of these names are."""

    path: str
    condition: str
    described: tuple[float | None, ...]
    identified: tuple[float | None, ...]


@dataclass(frozen=True)
class ClosedLoop:
    """One plant. Speeds forward on surge and sway, down on heave, m/s, of the numbers and not of a run."""

    seed: int
    runs: tuple[Swum, ...]
    speeds_described: tuple[float, ...]
    speeds_identified: tuple[float, ...]
    speeds_true: tuple[float, ...]


def closed_loops(
    vehicle: str,
    parameter_set: str | None,
    condition: str,
    seeds: Sequence[int],
    level: float | None,
    swum_s: float = SWUM_S,
    cells: Sequence[tuple[str, str]] = CELLS,
) -> Iterator[ClosedLoop]:
    """Plant by plant: excited in `condition`, fitted, then steered by the fleet file's controller in each of `cells`
    (condition, path), twice. The identified numbers are those of the file that `--out` writes."""
    prior = load_vehicle(vehicle, parameter_set)
    member: dict[str, object] = {"name": "rov", "type": vehicle, "start_m": [0, 0, 5]}
    if parameter_set is not None:
        member["parameter_set"] = parameter_set
    fleet = Fleet.model_validate({"version": 1, "name": "alone", "sight": {"topology": "none"}, "vehicles": [member]})
    for seed in seeds:
        pieces = fly_simulated(vehicle, parameter_set, excitation_file("excitation", level), condition, seed).pieces
        found = fit(pieces, prior)
        with tempfile.TemporaryDirectory(prefix="shoal-identified-") as scratch:
            file = Path(scratch) / "identified.yaml"
            write_parameter_set(found, prior, vehicle, pieces, file, "")
            identified = load_vehicle(str(file))
        runs = []
        for water, path in cells:
            spec = RunSpec(path=path, fleet=fleet, condition=water, seed=seed, duration_s=swum_s)
            runs.append(Swum(path, water, _swim(spec, None), _swim(spec, identified)))
        plant = perturbed(prior, load_condition(condition).plant, np.random.default_rng([seed, 1])).vehicle
        yield ClosedLoop(seed, tuple(runs), *(_speeds(v) for v in (prior, identified, plant)))


def _swim(spec: RunSpec, believed: Vehicle | None) -> tuple[float | None, ...]:
    """The run's metrics; `believed` None: the controller has the file's numbers."""
    run = build_run(spec)
    if believed is not None:
        run.simulator.runtimes["rov"].set_vehicle(believed)
    run.simulator.run()
    verdict = summarise(run.recording())
    return tuple(verdict.value(name) for name in METRICS)


def _speeds(vehicle: Vehicle) -> tuple[float, ...]:
    top = VehicleModel(vehicle).top_speeds()
    return tuple(top[axis][0] for axis in ("surge", "sway", "heave"))
