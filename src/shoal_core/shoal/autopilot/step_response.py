"""The step experiment of Ng 2024: an attitude law on the six-degree-of-freedom model, with latency and thruster lag."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.autopilot.attitude import ModelBasedLaw, PdLaw, WantedAttitude, euler_angles
from shoal.autopilot.reference_filter import ReferenceFilter
from shoal.codegen import Buffered
from shoal.frames import matrix, multiply
from shoal.messages.state import ATTITUDE, RATE
from shoal.vehicles.allocation import Allocator
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import ode_function
from shoal.vehicles.parameters import parameter_vector, structure_of

Array = NDArray[np.float64]
Wanted = Callable[[float], WantedAttitude]
Mixer = Callable[[Array], Array]
Force = Callable[[float], Array]


@dataclass(frozen=True)
class LoopTiming:
    """Of the loop around the law. The defaults are a calibration to what Ng 2024 states of its step responses."""

    period_s: float = 0.02
    latency_s: float = 0.04  # whole periods
    thruster_lag_s: float = 0.10


@dataclass(frozen=True)
class Response:
    """Angles over time."""

    times_s: Array  # (T,)
    angles_rad: Array  # (T,3)
    wanted_rad: Array  # (T,3)
    moments_Nm: Array  # (T,3) asked for


class AttitudeLoop:
    """One vehicle far below the surface, held by a law at 50 Hz; position is left alone."""

    def __init__(
        self, vehicle: Vehicle, law: PdLaw | ModelBasedLaw, timing: LoopTiming, predict: bool = False,
        plant: Vehicle | None = None, mixer: Mixer | None = None, noise_deg: float = 0.0, seed: int = 0,
    ) -> None:  # fmt: skip
        """`predict`: the law gets the state as it will be when its moment acts, by the model.

        `plant`: what swims, if not the vehicle; `mixer`: from a wrench (6,) to inputs (n,), if not the allocation;
        `noise_deg`: one sigma of attitude (°) and rates (°/s) as measured.
        """
        self._vehicle, self._law, self._timing, self._predict = vehicle, law, timing, predict
        self._allocate = Allocator(vehicle) if mixer is None else mixer
        self._rng, self._noise_rad = np.random.default_rng([seed, 43]), np.radians(noise_deg)
        swims = vehicle if plant is None else plant
        structure = structure_of(swims)
        self._ode = Buffered(ode_function(structure))
        self._ode.inputs[4][:] = parameter_vector(swims, structure)
        delay = round(timing.latency_s / timing.period_s)
        self._under_way: deque[Array] = deque([np.zeros(vehicle.input_count)] * delay)
        self._force_N, self._last_N = np.zeros(vehicle.input_count), np.zeros(vehicle.input_count)
        self.state = np.zeros(13)
        self.state[2], self.state[3] = 50.0, 1.0

    def run(self, wanted: Wanted, duration_s: float, force: Force | None = None) -> Response:
        """From rest, level, heading north. `force`: of the pilot (3,) in N, body; none: the depth is left alone."""
        h, rows = self._timing.period_s, []
        for k in range(round(duration_s / h)):
            target = wanted(k * h)
            true, self.state = self.state, self._measured()
            seen = self._ahead() if self._predict else self.state
            self.state = true
            moment = self._law.moment(seen[ATTITUDE], seen[RATE], target)
            down = matrix(seen[ATTITUDE]).T[:, 2]
            pilot = (self._vehicle.buoyancy_N - self._vehicle.weight_N) * down if force is None else force(k * h)
            self._under_way.append(self._allocate(np.concatenate([pilot, moment])))
            self._last_N = self._under_way.popleft()
            self.state, self._force_N = self._moved(self.state, self._force_N, self._last_N, h)
            rows.append((euler_angles(self.state[ATTITUDE]), target.angles_rad, moment))
        angles, targets, moments = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        times_s: Array = h * np.arange(1.0, len(rows) + 1.0)
        return Response(times_s, angles, targets, moments)

    def _measured(self) -> Array:
        draws = self._noise_rad * self._rng.standard_normal(6)
        state = self.state.copy()
        state[RATE] += draws[:3]
        turn = np.concatenate([[1.0], draws[3:] / 2])
        state[ATTITUDE] = multiply(state[ATTITUDE], turn / np.linalg.norm(turn))
        return state

    def _ahead(self) -> Array:
        """Over the commands under way, then over one lag with the last of them."""
        state, force, last = self.state, self._force_N, self._last_N
        for last in self._under_way:
            state, force = self._moved(state, force, last, self._timing.period_s)
        if self._timing.thruster_lag_s > 0:
            state, _ = self._moved(state, force, last, self._timing.thruster_lag_s)
        return state

    def _moved(self, state: Array, force: Array, command: Array, duration_s: float) -> tuple[Array, Array]:
        lag_s = max(self._timing.thruster_lag_s, 1e-9)
        decay = np.exp(-duration_s / lag_s)
        mean = command + (force - command) * (1 - decay) * lag_s / duration_s
        self._ode.inputs[1][:] = mean

        def derivative(x: Array) -> Array:
            self._ode.inputs[0][:] = x
            self._ode.call()
            return self._ode.outputs[0].copy()

        k1 = derivative(state)
        k2 = derivative(state + duration_s / 2 * k1)
        k3 = derivative(state + duration_s / 2 * k2)
        k4 = derivative(state + duration_s * k3)
        moved = state + duration_s / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        moved[ATTITUDE] /= np.linalg.norm(moved[ATTITUDE])
        return moved, command + (force - command) * decay


def step_to(angles_rad: Array) -> Wanted:
    """At once."""
    target = WantedAttitude(np.asarray(angles_rad, dtype=float), np.zeros(3), np.zeros(3))
    return lambda _: target


def filtered_step_to(angles_rad: Array, omega_radps: float, ahead_s: float = 0.0) -> Wanted:
    """Through a critically damped filter; `ahead_s`: the wanted attitude of so much later, which is when it acts."""

    def wanted(t_s: float) -> WantedAttitude:
        smooth = ReferenceFilter(np.zeros(3), omega_radps)
        smooth.step(np.asarray(angles_rad, dtype=float), t_s + ahead_s)
        return WantedAttitude(smooth.value, smooth.rate, smooth.acceleration)

    return wanted


def overshoot(response: Response, axis: int = 2) -> float:
    """Beyond the last wanted angle, as a share of the step."""
    target = response.wanted_rad[-1, axis]
    return float(np.max(response.angles_rad[:, axis] / target) - 1.0)


def settling_s(response: Response, axis: int = 2, band: float = 0.05) -> float:
    """The last instant outside of the band around the last wanted angle."""
    target = response.wanted_rad[-1, axis]
    outside = np.flatnonzero(np.abs(response.angles_rad[:, axis] - target) > band * abs(target))
    return float(response.times_s[outside[-1]]) if len(outside) else 0.0
