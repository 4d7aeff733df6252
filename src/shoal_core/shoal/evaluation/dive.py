"""How an autopilot follows its pilot's dive, and whether thrust jumps when levels change."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from shoal.autopilot.attitude import euler_angles
from shoal.autopilot.dive import load_dive
from shoal.errors import ShoalError
from shoal.evaluation.metric import Bound, Metric, Value
from shoal.messages.state import ATTITUDE
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]
GROUP = "Pilot"
TASK = "pilot_dive"
STARTING_S = 0.5  # in which the runtime probes how late thrust acts
LARGEST_JUMP = 0.2  # of a thruster's limit, between two control periods


def _switching(recording: Recording) -> bool:
    """Whether levels were changed at random, instead of a dive."""
    chance = re.search(r"switch_chance=([0-9.]+)", recording.about.task)
    return recording.about.task.partition(",")[0] == TASK and chance is not None and float(chance[1]) > 0


def _errors_deg(recording: Recording) -> Array | None:
    """(T,3) of roll, pitch and yaw; None: no dive, or its file is not at hand."""
    task = recording.about.task
    if task.partition(",")[0] != TASK or _switching(recording):
        return None
    named = re.search(r"course=([^,]+)", task)
    try:
        course = load_dive(named[1] if named else "pilot")
    except ShoalError:
        return None
    wanted = np.array([course.wanted(t).angles_rad for t in recording.times_s])
    angles = np.array([euler_angles(state) for state in recording.states[:, 0, ATTITUDE]])
    return np.asarray(np.degrees((angles - wanted + np.pi) % (2 * np.pi) - np.pi))


def _rms_deg(recording: Recording, axis: int) -> float | None:
    errors = _errors_deg(recording)
    return None if errors is None else float(np.sqrt(np.mean(errors[:, axis] ** 2)))


def _jump(recording: Recording) -> Value | None:
    """The largest, as a share of the weaker direction's limit."""
    late = recording.times_s[1:] > STARTING_S
    found: list[Value] = []
    for name in recording.names:
        if name not in recording.thrust_bounds_N or not late.any():
            continue
        least, most = recording.thrust_bounds_N[name]
        jumps = np.abs(np.diff(recording.thrust_N[name], axis=0))[late] / np.minimum(most, -least)
        at = int(np.nanargmax(jumps.max(axis=1)))
        found.append(Value(float(np.nanmax(jumps)), float(recording.times_s[1:][late][at]), name))
    return max(found, key=lambda value: value.number, default=None)


def _limit(recording: Recording) -> float | None:
    """Where the pilot's own motions are gentle: in a dive thrust follows him."""
    return LARGEST_JUMP if _switching(recording) else None


def _of_axis(axis: int, name: str) -> Metric:
    return Metric(
        f"dive_error_{name}_deg", "°", lambda r: _rms_deg(r, axis), label=f"{name} against the dive, RMS", group=GROUP,
        form=".2f", description="The pilot's wanted angle against the truth, over the whole dive.",
    )  # fmt: skip


ROLL, PITCH, YAW = (_of_axis(axis, name) for axis, name in enumerate(("roll", "pitch", "yaw")))
JUMP = Metric(
    "thrust_jump", "", _jump, Bound(_limit, "thrust jumped"), label="largest jump of thrust", group=GROUP, form=".2f",
    description="Of any thruster between two control periods, as a share of its limit; not in the first half second.",
)  # fmt: skip
