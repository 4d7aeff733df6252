"""All that a run leaves behind, in memory. Files are made from it, verdicts are read from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.messages.state import POSITION

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """Bounds of a run: hard ones decide failure, soft ones are what the controller aims at."""

    fov_hard_deg: float = 60.0
    distance_hard_m: float = 0.75
    fov_soft_deg: float = 30.0
    distance_soft_m: float = 2.0


@dataclass(frozen=True)
class RunRecord:
    """T instants, V vehicles, P stored plans of K points. World NED, body FRD, SI."""

    names: tuple[str, ...]  # V
    times_s: Array  # (T,)
    states: Array  # (T,V,13) truth
    odometry: Array  # (T,V,13) measured
    thrust_N: Array  # (T,V,8) commanded
    reference_m: Array  # (T,3) common setpoint
    reference_velocity_mps: Array  # (T,3)
    slots_m: Array  # (T,V,3) own setpoints
    solve_ms: Array  # (T,V)
    mode: NDArray[np.int8]  # (T,V) value of Mode
    slack_max: Array  # (T,V)
    neighbour_age_s: Array  # (T,V) age of the oldest neighbour plan in use
    current_mps: Array  # (T,V,3) NED
    plan_times_s: Array  # (P,)
    plans_m: Array  # (P,V,K,3) NED
    plan_dt_s: Array  # (K,) offsets of the plan points
    must_see: tuple[tuple[int, int], ...]  # (seer, seen)
    limits: Limits = Limits()
    events: tuple[tuple[float, str, str], ...] = ()  # (t_s, vehicle, text)
    meta: Mapping[str, Any] = field(default_factory=dict)  # JSON-able: path, fleet, condition, seed, controller, …

    def __post_init__(self) -> None:
        t, v = len(self.times_s), len(self.names)
        shapes: dict[str, tuple[int, ...]] = {
            "times_s": (t,), "states": (t, v, 13), "odometry": (t, v, 13), "reference_m": (t, 3),
            "reference_velocity_mps": (t, 3), "slots_m": (t, v, 3), "solve_ms": (t, v), "mode": (t, v),
            "slack_max": (t, v), "neighbour_age_s": (t, v), "current_mps": (t, v, 3),
            "plans_m": (len(self.plan_times_s), v, len(self.plan_dt_s), 3),
        }  # fmt: skip
        if t == 0 or v == 0:
            raise ValueError(f"record has {t} instants of {v} vehicles; expected at least one of each")
        for name, expected in shapes.items():
            if getattr(self, name).shape != expected:
                raise ValueError(f"record: {name} has shape {getattr(self, name).shape}; expected {expected}")
        if self.thrust_N.shape[:2] != (t, v):
            raise ValueError(f"record: thrust_N has shape {self.thrust_N.shape}; expected ({t}, {v}, thrusters)")

    @property
    def duration_s(self) -> float:
        """Simulated time covered."""
        return float(self.times_s[-1] - self.times_s[0])

    @property
    def centroid_m(self) -> Array:
        """(T,3) mean position of the fleet, true."""
        return np.asarray(self.states[:, :, POSITION].mean(axis=1))
