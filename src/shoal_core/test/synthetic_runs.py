"""Hand-made runs with known verdicts; a task and a controller of our own, found by dotted path, for campaigns."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.control.base import (
    Controller,
    ControllerContext,
    ControlOutput,
    Estimate,
    NeighbourForecast,
)
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Mode, Severity
from shoal.messages.limits import Limits
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.recordings.recording import About, HealthEvent, Recording
from shoal.tasks.follow_path import FollowPath, FollowSettings

Array = NDArray[np.float64]
STALE_PLAN = Issue(Code.STALE_PLAN, Severity.WARNING, "rov2", 0.75)


def heading_quaternion(heading_rad: Array) -> Array:
    """(T,) headings → (T,4) level attitudes."""
    half = np.asarray(heading_rad) / 2
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=-1)


def circle(times_s: Array) -> Array:
    """Fosso 2023's circle test."""
    w = np.pi / 100
    return np.stack([5 * np.cos(w * times_s) - 5, 5 * np.sin(w * times_s), np.sin(np.pi * times_s / 25) + 5], axis=1)


def make_record(
    *,
    duration_s: float = 200.0,
    step_s: float = 0.1,
    shift_s: float = 0.0,
    noise_m: float = 0.0,
    separation_m: float = 2.0,
    seed: int = 0,
    about: dict[str, Any] | None = None,
) -> Recording:
    """Two vehicles north and south of the circle's setpoint, facing each other, `shift_s` late."""
    times = np.arange(0.0, duration_s + step_s / 2, step_s)
    reference = circle(times)
    count = len(times)
    rng = np.random.default_rng([seed, 99])
    states = np.zeros((count, 2, 13))
    offset = np.array([separation_m / 2, 0.0, 0.0])
    centre = circle(times - shift_s)
    for i, sign in enumerate((-1.0, 1.0)):
        states[:, i, POSITION] = (
            centre + sign * offset + rng.normal(0.0, noise_m, (count, 3)) if noise_m else centre + sign * offset
        )
        states[:, i, ATTITUDE] = heading_quaternion(np.full(count, 0.0 if sign < 0 else np.pi))
    plan_times = times[:: max(1, round(0.5 / step_s))]
    plan_dt = 0.1 * np.arange(1, 11)
    plans = np.repeat(states[:: max(1, round(0.5 / step_s)), :, None, POSITION], len(plan_dt), axis=2)
    return Recording(
        names=("rov1", "rov2"),
        times_s=times,
        states=states,
        odometry=states + 0.01,
        thrust_N={"rov1": np.tile(np.arange(8.0), (count, 1)), "rov2": np.tile(np.arange(6.0), (count, 1))},
        reference_m=reference,
        reference_velocity_mps=np.gradient(reference, step_s, axis=0),
        setpoints_m=reference[:, None, :] + np.array([-offset, offset]),
        solve_ms=np.full((count, 2), 5.0),
        mode=np.zeros((count, 2), dtype=np.int8),
        slack_max=np.zeros((count, 2)),
        neighbour_age_s=np.full((count, 2), 0.1),
        current_mps=np.zeros((count, 2, 3)),
        plan_times_s=plan_times,
        plans_m=plans,
        plan_dt_s=plan_dt,
        must_see=((0, 1), (1, 0)),
        limits=Limits(),
        events=(
            HealthEvent(1.0, "rov1", Mode.CONTROLLER, (STALE_PLAN,)),
        ),
        issue_shares={"stale plan from rov2": float(np.mean(times >= 1.0)) / 2},
        about=About(**{"task": "follow_path", "path": "circle", "fleet": "two", "condition": "default", "seed": seed,
                       "controller": "nmpc", "wall_s": 4.0, "code_version": "test"} | (about or {})),
    )  # fmt: skip


def with_states(record: Recording, states: Array) -> Recording:
    """The same run with other true states."""
    return replace(record, states=states)


class OddSettings(FollowSettings):
    """How odd."""

    deadly: bool = False


class OddTask(FollowPath):
    """Follows a path; some seeds crash, fail or kill their process, as real ones do. Logs and sleeps when asked to."""

    Settings = OddSettings
    bounds: ClassVar[Mapping[str, float]] = {"setpoint_error_max_m": 100.0}  # Idle goes nowhere, and need not

    def start(self) -> dict[str, State]:
        """Called by a run only, not by the check before a campaign."""
        if log := os.environ.get("SHOAL_TEST_LOG"):
            with open(log, "a", encoding="utf-8") as stream:
                stream.write(f"{self.context.path} {self.condition.name} {self.context.seed}\n")
        time.sleep(float(os.environ.get("SHOAL_TEST_SLEEP_S", "0")))
        if self.context.settings.deadly and self.context.seed == 1:
            os.abort()  # like a segmentation fault in a solver: the process is gone, no exception
        if self.context.seed == 3 and self.context.path == "line":
            raise FloatingPointError("hand-made crash")
        states = super().start()
        if self.context.seed == 2:
            first, second = self.fleet.names
            away = states[second].position_m - states[first].position_m
            heading = np.arctan2(away[1], away[0]) + np.radians(75.0)
            level = away / np.linalg.norm(away) * [1, 1, 0]
            states[first] = State.at_rest(states[second].position_m - 2 * level / np.linalg.norm(level), float(heading))
        return states


class Idle(Controller):
    """No thrust, and nothing added to it that would show the lag."""

    lag_compensation = False

    def __init__(self, context: ControllerContext) -> None:
        self._count = len(context.vehicle.thrusters)

    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        return ControlOutput.of_thrust(np.zeros(self._count), estimate)
