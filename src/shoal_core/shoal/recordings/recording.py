"""All that a run leaves behind, in memory. Files are made from it, verdicts are read from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.messages.geometry import distances_m
from shoal.messages.health import Code, Issue, Mode, Severity
from shoal.messages.limits import Limits
from shoal.messages.state import POSITION

Array = NDArray[np.float64]
DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class HealthEvent:
    """A vehicle's mode or issues have changed."""

    t_s: float
    vehicle: str
    mode: Mode
    issues: tuple[Issue, ...] = ()

    def to_json(self) -> list[Any]:
        """Plain values."""
        issues = [[i.code.value, int(i.severity), i.subject, i.value] for i in self.issues]
        return [self.t_s, self.vehicle, int(self.mode), issues]

    @staticmethod
    def from_json(data: list[Any]) -> HealthEvent:
        """The other way round."""
        t_s, vehicle, mode, issues = data
        return HealthEvent(
            t_s, vehicle, Mode(mode), tuple(Issue(Code(c), Severity(s), subject, v) for c, s, subject, v in issues)
        )


@dataclass(frozen=True)
class TrueFault:
    """A thruster that a simulation broke, which a controller should find; or more than one, or for a while only."""

    from_s: float
    vehicle: str
    code: Code | None = None  # under which it is to be reported; None: nothing certain is expected
    thruster: str = ""


@dataclass(frozen=True)
class Outcome:
    """Whether a task with a goal has reached it."""

    goal: str  # in words
    reached_s: float | None  # from when on it held for good; None: not reached
    measured: Mapping[str, float] = field(default_factory=dict)  # by metric: what the task itself measured
    why: str = ""  # it was not reached, as far as the task knows


@dataclass(frozen=True)
class About:
    """What was run, written by whoever ran it; never by the caller."""

    task: str = ""
    path: str = ""
    fleet: str = ""
    condition: str = ""
    controller: str = ""
    seed: int = 0
    control_period_s: float | None = None
    code_version: str = ""
    wall_s: float | None = None
    start_stamp_s: float = 0.0  # of the recording's own clock, when it is a stretch of a longer one


@dataclass(frozen=True)
class Recording:
    """T instants, V vehicles, P stored plans of K points. World NED, body FRD, SI."""

    names: tuple[str, ...]  # V
    times_s: Array  # (T,)
    states: Array  # (T,V,13) truth
    odometry: Array  # (T,V,13) measured
    thrust_N: Mapping[str, Array]  # (T,n) commanded, for each vehicle as many as it has thrusters
    reference_m: Array  # (T,3) common setpoint
    reference_velocity_mps: Array  # (T,3)
    setpoints_m: Array  # (T,V,3) each vehicle's own
    solve_ms: Array  # (T,V)
    mode: NDArray[np.int8]  # (T,V) value of Mode
    slack_max: Array  # (T,V)
    neighbour_age_s: Array  # (T,V) age of the oldest neighbour plan in use
    current_mps: Array  # (T,V,3) NED
    plan_times_s: Array  # (P,)
    plans_m: Array  # (P,V,K,3) NED
    plan_dt_s: Array  # (K,) offsets of the plan points
    must_see: tuple[tuple[int, int], ...]  # (seer, seen)
    limits: Limits = DEFAULT_LIMITS
    thrust_bounds_N: Mapping[str, Array] = field(default_factory=dict)  # (2,n) least, most; without those not known
    input_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # n of each vehicle, where they are known
    hulls_m: Mapping[str, Array] = field(default_factory=dict)  # (P,3) points of those that are more than a centre
    events: tuple[HealthEvent, ...] = ()
    issue_shares: Mapping[str, float] = field(default_factory=dict)  # by sentence: share of all vehicles' control steps
    bounds: Mapping[str, float] = field(default_factory=dict)  # by metric: of the task or condition, not the usual one
    outcome: Outcome | None = None  # of a task that has a goal
    timing_error_s: Array | None = None  # (T,V) believed lag and delay less the true ones; None: the truth is not known
    true_faults: tuple[TrueFault, ...] = ()  # of thrusters, as far as known
    about: About = About()

    def __post_init__(self) -> None:
        t, v = len(self.times_s), len(self.names)
        shapes: dict[str, tuple[int, ...]] = {
            "times_s": (t,), "states": (t, v, 13), "odometry": (t, v, 13), "reference_m": (t, 3),
            "reference_velocity_mps": (t, 3), "setpoints_m": (t, v, 3), "solve_ms": (t, v), "mode": (t, v),
            "slack_max": (t, v), "neighbour_age_s": (t, v), "current_mps": (t, v, 3),
            "plans_m": (len(self.plan_times_s), v, len(self.plan_dt_s), 3),
        }  # fmt: skip
        if self.timing_error_s is not None:
            shapes["timing_error_s"] = (t, v)
        if t == 0 or v == 0:
            raise ValueError(f"recording has {t} instants of {v} vehicles; expected at least one of each")
        for name, expected in shapes.items():
            if getattr(self, name).shape != expected:
                raise ValueError(f"recording: {name} has shape {getattr(self, name).shape}; expected {expected}")
        if tuple(self.thrust_N) != self.names:
            raise ValueError(f"recording: thrust_N is of {list(self.thrust_N)}; expected {list(self.names)}")
        for name, thrust in self.thrust_N.items():
            if thrust.ndim != 2 or len(thrust) != t:
                raise ValueError(f"recording: thrust_N of {name} has shape {thrust.shape}; expected ({t}, thrusters)")

    @property
    def duration_s(self) -> float:
        """Simulated time covered."""
        return float(self.times_s[-1] - self.times_s[0])

    @cached_property
    def distances_m(self) -> Array:
        """(T, V(V-1)/2) between hulls, in the order of `all_pairs`."""
        return distances_m(self.states, [self.hulls_m.get(name, np.zeros((1, 3))) for name in self.names])

    @property
    def centroid_m(self) -> Array:
        """(T,3) mean position of the fleet, true."""
        return np.asarray(self.states[:, :, POSITION].mean(axis=1))
