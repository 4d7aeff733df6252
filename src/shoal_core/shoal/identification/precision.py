"""How near a fit comes to a known plant: excitation in the simulator on several seeds, errors, coverage, free runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.control.registry import ControllerFile
from shoal.fleet.file import Fleet
from shoal.identification.fit import Fit, fit
from shoal.identification.motion_data import from_recording
from shoal.identification.summary import SHOWN, Row, summarise_fit
from shoal.identification.validation import replay_of_fit, replay_of_vehicle, validate_replay
from shoal.simulation.conditions import load_condition
from shoal.simulation.perturbation import perturbed
from shoal.tasks.run import RunSpec, simulate
from shoal.vehicles.description import AXES, load_vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
FITTED_S, UNSEEN_S, FREE_RUN_S = 60.0, 18.0, 5.0


@dataclass(frozen=True)
class Trial:
    """One plant. Errors are relative, of masses then drag at 0.5 m/s (rad/s), surge, sway, heave, yaw."""

    seed: int
    errors: Array  # (8,)
    inside: NDArray[np.bool_]  # (8,) the truth lies in the 95 % interval
    errors_known_gains: Array  # (8,) the same, were the thrusters' gains known: no motion shows their common scale
    inside_known_gains: NDArray[np.bool_]
    misfit: float
    iterations: int
    free_run: float  # position error after 5 s of unseen motion, over that of the true numbers
    free_run_file: float  # the same of the vehicle file's numbers


NAMES = tuple(f"{AXES[i]} {kind}" for kind in ("mass", "drag") for i in SHOWN)


def trials(
    vehicle: str, parameter_set: str | None, condition: str, seeds: Sequence[int], level: float
) -> Iterator[Trial]:
    """One after the other, excited with up to `level` of each axis's thrust."""
    excitation = ControllerFile(version=1, name="excitation", controller="excitation", settings={"level": level})
    prior = load_vehicle(vehicle, parameter_set)
    member: dict[str, object] = {"name": "rov", "type": vehicle, "start_m": [0, 0, 5]}
    if parameter_set is not None:
        member["parameter_set"] = parameter_set
    fleet = Fleet.model_validate({"version": 1, "name": "excited", "vehicles": [member]})
    for seed in seeds:
        plant = perturbed(prior, load_condition(condition).plant, np.random.default_rng([seed, 1]))
        truth = plant.vehicle
        spec = RunSpec(
            fleet=fleet, controller=excitation, condition=condition, duration_s=FITTED_S + UNSEEN_S, seed=seed
        )
        whole = from_recording(simulate(spec), "rov", f"seed {seed}")
        found = fit([whole.part(0, FITTED_S)], prior)
        masses = np.diag(mass_matrix(truth))[list(SHOWN)]
        drags = (0.5 * np.diag(truth.linear_damping) + 0.25 * np.diag(truth.quadratic_damping))[list(SHOWN)]
        true = np.concatenate([masses, drags])
        rows = {row.name: row for row in summarise_fit(found, prior)}
        picked = [rows[f"{AXES[i]} mass with added mass"] for i in SHOWN]
        picked += [rows[f"{AXES[i]} drag at 0.5 {'m/s' if i < 3 else 'rad/s'}"] for i in SHOWN]
        values, lows, highs = np.array([(r.value, *r.interval) for r in picked]).T
        known, half = given_gains(found, picked, plant.thrust_gain)
        unseen = [whole.part(FITTED_S - 1, FITTED_S + UNSEEN_S)]
        exact = replace(replay_of_vehicle(truth), gains=plant.thrust_gain)
        replays = exact, replay_of_fit(found), replay_of_vehicle(prior)
        off = [validate_replay(replay, unseen, FREE_RUN_S).position_rms_m for replay in replays]
        yield Trial(
            seed, values / true - 1, (lows <= true) & (true <= highs), known / true - 1, np.abs(known - true) <= half,
            found.misfit, found.iterations, off[1] / off[0], off[2] / off[0],
        )  # fmt: skip


def given_gains(found: Fit, rows: Sequence[Row], gains: Array) -> tuple[Array, Array]:
    """Values and half 95 % intervals of `rows`, conditional on the thrusters' true `gains` (n,)."""
    which = [i for i, u in enumerate(found.unknowns) if u.name.startswith("gain of ")]
    by = np.array([row.gradient for row in rows])  # (R,P)
    across = by @ found.covariance[:, which]
    weight = np.linalg.solve(found.covariance[np.ix_(which, which)], across.T).T
    values = np.array([row.value for row in rows]) + weight @ (gains - found.values[which])
    variance = np.diag(by @ found.covariance @ by.T) - np.sum(weight * across, axis=1)
    return values, 1.96 * np.sqrt(variance)
