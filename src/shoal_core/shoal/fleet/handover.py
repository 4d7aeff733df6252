"""What is known of a body, handed on when modules are joined or parted: estimate, thrust, timing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import Composite
from shoal.estimation.timing_bank import TimingEstimate
from shoal.frames import matrix, multiply
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, POSITION, RATE, TWIST, VELOCITY
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
DISAGREES_M = 0.06  # more than the noise of one measurement
TOGETHER_S = 0.1  # odometry that is older than the newest by more than this is left out


@dataclass(frozen=True)
class Knowledge:
    """Of one body: what its agent believes at the stamp of its newest odometry."""

    odometry: Odometry  # the estimate, not the measurement
    wrench: Array  # (6,) what the model misses, body
    current_mps: Array  # (3,) NED
    thrust_N: Array  # (n,) last commanded
    timing: TimingEstimate


def fused(composite: Composite, odometry: Mapping[str, Odometry | None]) -> Odometry | None:
    """The composite's odometry: the mean of what its modules' show, those of the last 0.1 s, moved on to the newest.

    Modules that are joined a little off the drawing disagree by that much; the mean halves it.
    """
    given = {name: o for name, o in odometry.items() if o is not None and o.is_finite and name in composite.poses}
    if not given:
        return None
    newest_s = max(o.stamp_s for o in given.values())
    fresh = {name: o for name, o in given.items() if newest_s - o.stamp_s <= TOGETHER_S}
    states = np.array([_at(composite.state_from(name, o.state), newest_s - o.stamp_s) for name, o in fresh.items()])
    turned = np.sign(states[:, ATTITUDE] @ states[0, ATTITUDE])
    states[:, ATTITUDE] *= np.where(turned == 0, 1.0, turned)[:, None]
    mean = states.mean(axis=0)
    mean[ATTITUDE] /= np.linalg.norm(mean[ATTITUDE])
    return Odometry(newest_s, mean)


def _at(state: Array, later_s: float) -> Array:
    """The same body a moment later, with the velocity it has."""
    if later_s <= 0.0:
        return state
    moved = state.copy()
    moved[POSITION] += matrix(state[ATTITUDE]) @ state[VELOCITY] * later_s
    moved[ATTITUDE] = multiply(state[ATTITUDE], np.array([1.0, *(state[RATE] * later_s / 2)]))
    return moved


def joined(
    composite: Composite, vehicles: Mapping[str, Vehicle], known: Mapping[str, Knowledge | None]
) -> Knowledge | None:
    """Of the composite, from what its modules' agents know; velocities by momentum, wrenches add up."""
    given = {name: k for name, k in known.items() if k is not None}
    odometry = fused(composite, {name: k.odometry for name, k in given.items()})
    if odometry is None:
        return None
    state = odometry.state.copy()
    if len(given) == len(composite.poses):
        momentum = composite.joined(vehicles, {name: k.odometry.state for name, k in given.items()})
        state[TWIST] = momentum[TWIST]
    thrust_N = np.zeros(composite.vehicle.input_count)
    for name, k in given.items():
        thrust_N[composite.inputs[name]] = k.thrust_N
    wrench = np.sum([composite.poses[name].twist().T @ k.wrench for name, k in given.items()], axis=0)
    current = np.mean([k.current_mps for k in given.values()], axis=0)
    surest = max(given.values(), key=lambda k: k.timing.certainty)
    return Knowledge(Odometry(odometry.stamp_s, state), wrench, current, thrust_N, surest.timing)


def placed(known: Knowledge, measured: Odometry | None) -> Knowledge:
    """At the place that its own navigation gives: the group's is a mean of all, and may be off that by decimetres."""
    state = known.odometry.state
    if measured is None or float(np.linalg.norm(measured.position_m - state[POSITION])) < DISAGREES_M:
        return known
    state = state.copy()
    state[POSITION], state[ATTITUDE] = measured.position_m, measured.attitude
    return replace(known, odometry=Odometry(known.odometry.stamp_s, state))


def parted(composite: Composite, name: str, vehicle: Vehicle, known: Knowledge) -> Knowledge:
    """Of one module; of the wrench it takes with it what accelerates it as it did the whole."""
    state = composite.module_states(known.odometry.state)[name]
    acceleration = np.linalg.solve(mass_matrix(composite.vehicle), known.wrench)
    wrench = mass_matrix(vehicle) @ composite.poses[name].twist() @ acceleration
    thrust_N = known.thrust_N[composite.inputs[name]].copy()
    return Knowledge(Odometry(known.odometry.stamp_s, state), wrench, known.current_mps, thrust_N, known.timing)
