"""Platforms of any shape on a path and in steps: error, overshoot and the time of a step, for each blueprint."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from shoal.evaluation.step_response import step_of
from shoal.fleet.file import Fleet
from shoal.messages.state import POSITION
from shoal.platform.assembly import assembly_of
from shoal.platform.blueprint import Blueprint, load_blueprint
from shoal.tasks.run import RunSpec, simulate

SETTLED_S = 15.0  # the start is drawn off the path: errors count from here on
PATH = "tank_loop"


@dataclass(frozen=True)
class PlatformFigures:
    """Of one shape, worst over the seeds but for the step's time, which is the median of all."""

    name: str
    vessels: int
    error_mean_m: float
    error_p95_m: float
    overshoot: dict[str, float]  # by axis, share
    settling_s: dict[str, float]
    step_ms: float
    step_p99_ms: float


def figures_of(name: str, condition: str, controller: str, seeds: Sequence[int]) -> PlatformFigures:
    """Follows the path and makes three steps, once for each seed."""
    blueprint = load_blueprint(name)
    with tempfile.TemporaryDirectory(prefix="shoal-platforms-") as folder:
        fleet = fleet_of(blueprint, controller, Path(folder))
        means, tails, times_ms = [], [], []
        overshoot: dict[str, float] = {}
        settling: dict[str, float] = {}
        for seed in seeds:
            run = simulate(RunSpec(fleet=fleet, path=PATH, condition=condition, controller=controller, seed=seed))
            late = run.times_s > SETTLED_S
            off_m = np.linalg.norm((run.states[:, 0, POSITION] - run.setpoints_m[:, 0])[late][:, :2], axis=1)
            means.append(float(off_m.mean()))
            tails.append(float(np.percentile(off_m, 95)))
            times_ms.append(run.solve_ms[late, 0])
            for axis in ("surge", "sway", "yaw"):
                info = step_of(
                    simulate(
                        RunSpec(fleet=fleet, condition=condition, controller=controller, seed=seed,
                                task="step_response", task_settings={"axis": axis})
                    )
                )  # fmt: skip
                assert info is not None
                overshoot[axis] = max(overshoot.get(axis, 0.0), float(info.overshoot))
                settling[axis] = float(np.fmax(settling.get(axis, 0.0), info.settling_s))
    all_ms = np.concatenate(times_ms)
    return PlatformFigures(
        name, len(blueprint.cells), max(means), max(tails), overshoot, settling,
        float(np.median(all_ms)), float(np.percentile(all_ms, 99)),
    )  # fmt: skip


def fleet_of(blueprint: Blueprint, controller: str, folder: Path) -> Fleet:
    """One vehicle: the platform of the blueprint, complete; of a single cell the vessel itself."""
    if len(blueprint.cells) == 1:
        member: dict[str, object] = {"type": next(iter(blueprint.type_of.values()))}
    else:
        file = folder / f"{blueprint.name}.yaml"
        file.write_text(yaml.safe_dump(assembly_of(blueprint)), encoding="utf-8")
        member = {"assembly": str(file)}
    return Fleet.model_validate(
        {
            "version": 1, "name": blueprint.name, "control_period_s": 0.05, "controller": controller,
            "sight": {"topology": "none"}, "vehicles": [{"name": "platform", "start_m": (0.0, 0.0, 0.0), **member}],
        }
    )  # fmt: skip
