"""Rise, settling, overshoot and peak of a step response, as MATLAB's stepinfo has them (settling: 5 %)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.evaluation.metric import Computed, Metric
from shoal.frames import yaw_of
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Recording
from shoal.tasks.step_response import StepSettings

Array = NDArray[np.float64]
END_S = 2.0  # over which the last value is averaged
BAND = 0.05


@dataclass(frozen=True)
class StepInfo:
    """Not-a-number: it was never reached."""

    rise_s: float  # from 10 % to 90 %
    settling_s: float  # after the step, last entry into ±5 % of it
    overshoot: float  # share of the step
    peak_s: float  # after the step
    steady_error: float  # mean of the last seconds, m or rad


def step_info(times_s: Array, values: Array, begin: float, final: float) -> StepInfo:
    """Times (T,) count from the step; `final`: what was asked for."""
    share = (values - begin) / (final - begin)
    tenth, most = np.flatnonzero(share >= 0.1), np.flatnonzero(share >= 0.9)
    rise = float(times_s[most[0]] - times_s[tenth[0]]) if len(tenth) and len(most) else math.nan
    outside = np.flatnonzero(np.abs(share - 1) > BAND)
    last = int(outside[-1]) if len(outside) else -1
    settling = math.nan if last == len(share) - 1 else float(times_s[last + 1])
    peak = int(np.argmax(share))
    error = abs(float(values[times_s >= times_s[-1] - END_S].mean()) - final)
    return StepInfo(
        rise,
        settling,
        max(float(share[peak]) - 1.0, 0.0),
        float(times_s[peak]),
        error,
    )


def step_of(recording: Recording) -> StepInfo | None:
    """Of the first vehicle, by the settings that the run was made with; None: of another task."""
    task, *given = recording.about.task.split(", ")
    if task != "step_response":
        return None
    settings = StepSettings.model_validate(dict(entry.split("=", 1) for entry in given))
    states, times_s = recording.states[:, 0], recording.times_s
    after = times_s >= settings.at_s - 1e-9
    heading = np.unwrap([yaw_of(q) for q in states[:, ATTITUDE]])
    if settings.axis == "yaw":
        values = heading - heading[0]
    else:
        c, s = math.cos(heading[0]), math.sin(heading[0])
        way = np.array([c, s, 0.0] if settings.axis == "surge" else [-s, c, 0.0])
        values = (states[:, POSITION] - states[0, POSITION]) @ way
    return step_info(times_s[after] - settings.at_s, values[after], 0.0, settings.step)


def _metric(name: str, unit: str, label: str, form: str = ".2f") -> Metric:
    def compute(recording: Recording) -> Computed:
        found = step_of(recording)
        return None if found is None else float(getattr(found, name))

    return Metric(name, unit, compute, label=label, group="Step response", form=form)


RISE = _metric("rise_s", "s", "rise, 10 to 90 %")
SETTLING = _metric("settling_s", "s", "settling, 5 %")
OVERSHOOT = _metric("overshoot", "", "overshoot", ".1%")
PEAK = _metric("peak_s", "s", "peak after")
STEADY_ERROR = _metric("steady_error", "", "steady error (m or rad)", ".4f")
