"""The plan that a vehicle sends to the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.control.base import ControlOutput
from shoal.frames import matrix
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY

Array = NDArray[np.float64]


def own_plan(name: str, sequence: int, t_s: float, start_s: float, output: ControlOutput | None, here: Array) -> Plan:
    """The predicted motion of the controller's output; without one, staying `here` (13,)."""
    if output is not None and len(output.times_s) > 1:
        positions_m = output.states[:, POSITION].copy()
        return Plan.along(name, sequence, t_s, output.times_s, positions_m)
    velocity = np.zeros((1, 3))
    if output is not None:  # of a controller that predicts nothing: the state it steered by
        here, start_s = output.states[0], float(output.times_s[0])
        velocity = (matrix(here[ATTITUDE]) @ here[VELOCITY])[None]
    return Plan(name, sequence, t_s, np.array([start_s]), here[None, POSITION].copy(), velocity)
