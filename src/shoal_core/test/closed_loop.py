"""Whole runs for tests, and the figures that judge them on the plant's truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.fleet.file import Fleet
from shoal.messages.geometry import distances_m, fov_angles_deg
from shoal.messages.health import Mode
from shoal.recordings.recording import Recording
from shoal.simulation.conditions import Condition, load_condition
from shoal.tasks.run import RunSpec, simulate

SETTLE_S = 10.0  # starts are up to 2 m off
OFF_PATH_M = 2.0


@dataclass(frozen=True)
class Figures:
    """Of one run. Worked out here, so that a mistake in `shoal.evaluation` does not hide one in the control."""

    rmse_m: float  # of the fleet's middle, after settling
    rmse_whole_m: float
    worst_error_m: float  # after settling
    distance_min_m: float
    fov_max_deg: float
    fallbacks: int  # control steps that were not the controller's
    failed: bool


def figures(recording: Recording) -> Figures:
    """Hard limits at every instant, path error after settling."""
    error = np.linalg.norm(recording.centroid_m - recording.reference_m, axis=1)
    settled = recording.times_s >= min(SETTLE_S, 0.5 * recording.duration_s)
    distance = distances_m(recording.states)
    angle = fov_angles_deg(recording.states, recording.must_see)
    nearest, widest = float(np.min(distance, initial=np.inf)), float(np.max(angle, initial=0.0))
    worst = float(error[settled].max())
    return Figures(
        rmse_m=float(np.sqrt(np.mean(error[settled] ** 2))),
        rmse_whole_m=float(np.sqrt(np.mean(error**2))),
        worst_error_m=worst,
        distance_min_m=nearest,
        fov_max_deg=widest,
        fallbacks=int(np.sum(recording.mode != int(Mode.CONTROLLER))),
        failed=not (
            nearest >= recording.limits.distance_hard_m
            and widest <= recording.limits.sight_hard_deg
            and worst <= OFF_PATH_M
        ),
    )


def changed(name: str = "default", **given: Any) -> Condition:
    """A shipped condition with other values: whole entries of the file."""
    data = load_condition(name).model_dump(mode="json", exclude_none=True) | given
    return Condition.model_validate(data | {"name": f"{name} changed"})


def simulated(
    path: str = "circle",
    fleet: str | Fleet = "2",
    condition: str | Condition = "default",
    *,
    seed: int = 0,
    duration_s: float | None = None,
    task: str = "follow_path",
    settings: Mapping[str, Any] | None = None,
) -> Recording:
    """One run."""
    return simulate(
        RunSpec(path, fleet, condition, seed, duration_s=duration_s, task=task, task_settings=settings or {})
    )
