"""The plan that a vehicle sends to the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.control.base import ControlOutput
from shoal.fleet.neighbours import PlanForecast
from shoal.frames import matrix, yaws_of
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY

Array = NDArray[np.float64]


def own_plan(name: str, sequence: int, t_s: float, start_s: float, output: ControlOutput | None, here: Array) -> Plan:
    """The predicted motion of the controller's output; without one, staying `here` (13,)."""
    if output is not None and len(output.times_s) > 1:
        positions_m = output.states[:, POSITION].copy()
        return Plan.along(name, sequence, t_s, output.times_s, positions_m, _headings(output.states[:, ATTITUDE]))
    velocity = np.zeros((1, 3))
    if output is not None:  # of a controller that predicts nothing: the state it steered by
        here, start_s = output.states[0], float(output.times_s[0])
        velocity = (matrix(here[ATTITUDE]) @ here[VELOCITY])[None]
    place = here[None, POSITION].copy()
    return Plan(name, sequence, t_s, np.array([start_s]), place, velocity, headings_rad=_headings(here[None, ATTITUDE]))


def keeps_clear(plan: Plan, forecast: PlanForecast | None, hard_m: float) -> bool:
    """Whether the plan keeps the hard distance from the neighbours' plans, as far as known."""
    if forecast is None or not forecast.plans or len(plan.times_s) < 2:
        return True
    return forecast.closest_m(plan) >= hard_m


def _headings(attitudes: Array) -> Array:
    """(K,) of attitudes (K,4), without jumps of 2π."""
    found = yaws_of(attitudes)
    if (abs(found[1:] - found[:-1]) > np.pi).any():
        found = np.unwrap(found)
    return found
