"""Overdrive against the thrusters' lag: changes of force by one factor, changes of moment by another.

A lag acts like a delay of its time constant; overdriving a change by a factor shortens it by that factor. The rotations
cross over four times as high as the translations and have the least delay margin, so their overdrive is the smaller.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.control.base import Controller
from shoal.estimation.actuator_state import Segment, lag_ratios
from shoal.estimation.ekf import StateEstimator
from shoal.fleet.actuation import Actuation
from shoal.frames import matrix
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


class Leads(NamedTuple):
    """Factors, and how long after a command reaches the thrusters it counts as acting."""

    force: float
    moment: float
    force_s: float
    moment_s: float

    @staticmethod
    def of(lag_s: float, force: float, moment: float) -> Leads:
        """Moments never more than forces: their state is predicted further."""
        moment = min(moment, force)
        return Leads(force, moment, lag_s / force, lag_s / moment)


def leads_of(controller: Controller, actuation: Actuation, moment_lead: float, *, slow: bool) -> Leads:
    """Of the next command; none for a controller that does without a prediction over the lag."""
    lag_s = actuation.timing.lag_s
    if not controller.lag_compensation or lag_s <= 1e-6:
        return Leads(1.0, 1.0, 0.0, 0.0)
    return Leads.of(lag_s, 1.0 if slow else actuation.lead, controller.moment_lead or moment_lead)


class Overdrive:
    """Of one vehicle's thrusters."""

    def __init__(self, vehicle: Vehicle) -> None:
        b = vehicle.input_matrix
        self._moments = np.linalg.pinv(b)[:, 3:] @ b[3:]  # (n,n): the part of a change of thrust that makes moments
        self._ratios = lag_ratios(vehicle.input_lag_s)

    def command(self, acting_N: Array, wanted_N: Array, leads: Leads) -> Array:
        """What brings lagging thrusters (n,) from the force that acts to the wanted one sooner."""
        change_N = wanted_N - acting_N
        if self._ratios is not None:  # a slower thruster is overdriven more: then all of them act at one time
            force, moment = np.maximum(leads.force * self._ratios, 1.0), np.maximum(leads.moment * self._ratios, 1.0)
            return np.asarray(acting_N + force * change_N + (moment - force) * (self._moments @ change_N))
        overdriven = acting_N + leads.force * change_N
        if leads.moment == leads.force:
            return overdriven
        return np.asarray(overdriven + (leads.moment - leads.force) * (self._moments @ change_N))


def with_rotation(moved: Array, turned: Array) -> Array:
    """Place and motion through the water of one state (13,), attitude and rates of another, a little later one."""
    state = turned.copy()
    state[POSITION] = moved[POSITION]
    state[VELOCITY] = matrix(turned[ATTITUDE]).T @ (matrix(moved[ATTITUDE]) @ moved[VELOCITY])
    return state


def predicted(
    estimator: StateEstimator,
    actuation: Actuation,
    times_s: tuple[float, float, float, float],
    longest_s: float,
    lag_as_delay: bool = False,
) -> tuple[Array, Array]:
    """The state (13,) ahead and the force (n,) that acts when the next command reaches the thrusters.

    Times of the estimate, of that command's arrival, of the state, and of its attitude and rates. From that arrival on
    the last command goes on; with `lag_as_delay` the force that acts then does (see `Controller.lag_as_delay`).
    """
    stamp_s, act_s, start_s, turn_s = times_s
    state, force = estimator.state, actuation.force_N
    for segment in actuation.segments(stamp_s, act_s, longest_s):
        state, force = estimator.step(state, force, segment)
    acting_N = force

    def later(from_s: float, to_s: float) -> list[Segment]:
        if lag_as_delay:
            return Segment.constant(acting_N, to_s - from_s, longest_s)
        return actuation.segments(from_s, to_s, longest_s)

    for segment in later(act_s, start_s):
        state, force = estimator.step(state, force, segment)
    moved = state
    for segment in later(start_s, turn_s):
        state, force = estimator.step(state, force, segment)
    return (moved if state is moved else with_rotation(moved, state)), acting_N
