"""How much delay, lag and gain may be wrong before the loop oscillates: the controller linearised at hover, per axis.

The loop holds what the agent does in one period: estimate with its steady Kalman gain, prediction over believed delay
and lag, the controller's first move, overdrive against the lag. Gains of the first move are finite differences of one
real-time iteration. Axes are taken alone; a loop is stable when its spectral radius is below one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from shoal.control.base import Estimate, Neighbours
from shoal.control.nmpc.controller import NmpcController
from shoal.estimation.actuator_state import ActuatorState, lead
from shoal.estimation.ekf import EstimatorSettings
from shoal.messages.directive import Directive
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal.messages.state import State
from shoal.vehicles.description import AXES, Vehicle
from shoal.vehicles.functions import VehicleModel
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
LONGEST_S, RESOLUTION_S = 0.5, 0.005  # of the margins looked for
MOST_GAIN, GAIN_STEP = 10.0, 1.02
DEPTH_M = 5.0
SETTLING = 60  # control periods until the optimisation stands still
LONGEST_STEP_S, PLANT_STEP_S = 0.1, 0.01  # of the model in the agent's prediction, and of the truth
SMALL = 1e-3  # m, rad, m/s, rad/s, N, N m: of the finite differences


@dataclass(frozen=True)
class Belief:
    """What the agent reckons with."""

    period_s: float = 0.05
    lag_s: float = 0.15
    delay_s: float = 0.05
    wanted_lead: float = 2.0
    wanted_moment_lead: float = 1.0

    def lead(self, rotation: bool) -> float:
        """Overdrive of changes of force, or of moment."""
        wanted = min(self.wanted_lead, self.wanted_moment_lead) if rotation else self.wanted_lead
        return lead(wanted, self.period_s + self.delay_s, self.period_s, self.lag_s)


@dataclass(frozen=True)
class AxisLoop:
    """One axis at hover: the vehicle's numbers, the controller's and the estimator's gains."""

    mass: float  # kg or kg m², with added mass
    damping: float
    stiffness: float
    position_gain: float  # wanted force per metre or radian, and so on; negative feedback is positive
    velocity_gain: float
    wrench_gain: float  # share of the estimated wrench that is cancelled
    previous_gain: float  # of the force wanted last
    kalman: Array  # (3,2) of position, velocity, wrench from measured position and velocity
    lead: float
    belief: Belief

    def spectral_radius(self, lag_s: float, delay_s: float, gain: float = 1.0) -> float:
        """Of the loop closed around thrusters with this lag, delay and thrust gain."""
        move = _Period(self, lag_s, delay_s, gain)
        return float(np.max(np.abs(np.linalg.eigvals(move(np.eye(move.size))))))


@dataclass(frozen=True)
class Margins:
    """Of one axis. None: none was found within 0.5 s, or down to no lag and no delay, or to a tenth or tenfold gain."""

    axis: str
    later_s: float | None  # more delay than believed
    sooner_s: float | None  # less lag, then less delay
    more_gain: float | None  # factor on the thrust
    less_gain: float | None
    loop: AxisLoop


def margins(
    controller: NmpcController, vehicle: Vehicle, estimator: EstimatorSettings, belief: Belief
) -> list[Margins]:
    """Of all six axes."""
    loops = axis_loops(controller, vehicle, estimator, belief)
    return [_axis_margins(axis, loop) for axis, loop in zip(AXES, loops, strict=True)]


def _axis_margins(axis: str, loop: AxisLoop) -> Margins:
    lag_s, delay_s = loop.belief.lag_s, loop.belief.delay_s

    def sooner(by_s: float) -> float:
        left_s = max(0.0, by_s - lag_s)
        return loop.spectral_radius(max(0.0, lag_s - by_s), max(0.0, delay_s - left_s))

    steps = int(np.log(MOST_GAIN) / np.log(GAIN_STEP))
    seconds: Array = RESOLUTION_S * np.arange(1, round(LONGEST_S / RESOLUTION_S) + 1, dtype=np.float64)
    factors: Array = np.power(GAIN_STEP, np.arange(1, steps + 1, dtype=np.float64))
    return Margins(
        axis,
        _last_stable(0.0, seconds, lambda s: loop.spectral_radius(lag_s, delay_s + s)),
        _last_stable(0.0, seconds[seconds <= lag_s + delay_s + 1e-9], sooner),
        _last_stable(1.0, factors, lambda f: loop.spectral_radius(lag_s, delay_s, f)),
        _last_stable(1.0, 1 / factors, lambda f: loop.spectral_radius(lag_s, delay_s, f)),
        loop,
    )


def _last_stable(nominal: float, values: Array, radius: Callable[[float], float]) -> float | None:
    """The last of the values, beginning at the nominal one, before the loop is unstable; None: it never is."""
    stable = nominal
    for value in values:
        if radius(float(value)) >= 1.0:
            return stable
        stable = float(value)
    return None


def axis_loops(
    controller: NmpcController, vehicle: Vehicle, estimator: EstimatorSettings, belief: Belief
) -> list[AxisLoop]:
    """The six axes, surge to yaw."""
    gains = _FirstMove(controller, vehicle, belief.period_s).gains()
    linear = VehicleModel(vehicle).linearise(_hover(), VehicleModel(vehicle).trim())
    inverse = np.linalg.inv(mass_matrix(vehicle))
    loops = []
    for i in range(6):
        mass = 1.0 / inverse[i, i]
        damping = -mass * linear.a[7 + i, 7 + i]
        stiffness = -mass * linear.a[7 + i, 4 + i - 3] / 2 if i >= 3 else 0.0  # a small angle is twice its ε
        kalman = _kalman(mass, damping, stiffness, i >= 3, estimator, belief.period_s)
        loops.append(AxisLoop(mass, damping, stiffness, *gains[i], kalman, belief.lead(i >= 3), belief))
    return loops


def _hover() -> Array:
    return State.at_rest((0.0, 0.0, DEPTH_M)).array


class _Nobody:
    """No neighbours."""

    def at(self, times_s: Array) -> Neighbours:
        return Neighbours((), np.zeros(0), np.zeros((0, len(times_s), 3)), np.zeros(0))


class _FirstMove:
    """The controller at hover, one iteration at a time from the same guess."""

    def __init__(self, controller: NmpcController, vehicle: Vehicle, period_s: float) -> None:
        self._controller, self._period_s, self._matrix = controller, period_s, vehicle.thrust_matrix
        setpoint = Preview(np.zeros(1), np.array([[0.0, 0.0, DEPTH_M]]), np.zeros((1, 3)), np.zeros(1))
        self._directive = Directive("hold", setpoint)
        self._t_s, self._thrust_N = 0.0, VehicleModel(vehicle).trim()
        for _ in range(SETTLING):
            self._thrust_N = self._step(_hover(), np.zeros(6), self._thrust_N)
        problem = controller.nmpc.problem
        self._guess = problem.x.copy(), problem.u.copy()

    def _step(self, state: Array, wrench: Array, previous_N: Array) -> Array:
        self._t_s += self._period_s
        estimate = Estimate(
            self._t_s, self._t_s, state, wrench, np.zeros(3), True, previous_N, Odometry(self._t_s, state)
        )
        output = self._controller.step(self._t_s, estimate, self._directive, _Nobody())
        return output.thrust_N

    def _wrench(self, state: Array, wrench: Array, previous_N: Array) -> Array:
        problem = self._controller.nmpc.problem
        problem.x[:], problem.u[:] = self._guess
        return np.asarray(self._matrix @ self._step(state, wrench, previous_N))

    def gains(self) -> list[tuple[float, float, float, float]]:
        """(position, velocity, wrench, previous force) of each axis."""
        back = np.linalg.pinv(self._matrix)
        found = []
        for i in range(6):
            sides = []
            for size in (SMALL, -SMALL):
                moved, fast, pushed = _hover(), _hover(), np.zeros(6)
                if i < 3:
                    moved[i] += size
                else:
                    moved[4 + i - 3] = size / 2
                    moved[3] = np.sqrt(1 - size**2 / 4)
                fast[7 + i], pushed[i] = size, size
                still, rest = _hover(), np.zeros(6)
                cases = (moved, rest, 0.0), (fast, rest, 0.0), (still, pushed, 0.0), (still, rest, size)
                sides.append([self._wrench(x, w, self._thrust_N + p * back[:, i])[i] for x, w, p in cases])
            position, velocity, wrench, previous = (np.array(sides[0]) - np.array(sides[1])) / (2 * SMALL)
            found.append((-float(position), -float(velocity), -float(wrench), float(previous)))
        return found


def _kalman(
    mass: float, damping: float, stiffness: float, rotation: bool, s: EstimatorSettings, period_s: float
) -> Array:
    """Steady gain (3,2). The current's wander counts as one of the force: at rest the two cannot be distinguished."""
    degree = np.pi / 180
    if rotation:
        measured = np.array([s.attitude_deg * degree, s.rate_dps * degree]) ** 2
        process = np.array([0.0, s.angular_mps2**2, s.moment_Nm**2])
    else:
        measured = np.array([s.position_m, s.velocity_mps]) ** 2
        process = np.array([0.0, s.acceleration_mps2**2, s.force_N**2 + (damping * s.current_mps) ** 2])
    transition = _transition(mass, damping, stiffness, period_s)[:3, :3]
    covariance, gain = np.diag([*measured, process[2]]), np.zeros((3, 2))
    for _ in range(2000):
        covariance = transition @ covariance @ transition.T + np.diag(process) * period_s
        gain = covariance[:, :2] @ np.linalg.inv(covariance[:2, :2] + np.diag(measured))
        covariance = covariance - gain @ covariance[:2]
    return gain


class _Period:
    """One control period of the closed loop as a linear function of its state, of several states (S,N) at once.

    State: vehicle (position, velocity, force), estimate (position, velocity, wrench), believed force, force wanted
    last, and the commands given so far, newest first.
    """

    def __init__(self, loop: AxisLoop, lag_s: float, delay_s: float, gain: float) -> None:
        self._loop, self._lag_s, self._delay_s, self._gain = loop, lag_s, delay_s, gain
        longest_s = max(delay_s, loop.belief.delay_s)
        self.size = 8 + int(np.ceil(longest_s / loop.belief.period_s - 1e-9)) + 2

    def __call__(self, z: Array) -> Array:
        loop, belief = self._loop, self._loop.belief
        body, estimate, force, previous, given = z[:3], z[3:6], z[6], z[7], z[8:]
        body = self._vehicle(body, given)
        believed, act_s = self._history(given, belief.lag_s, belief.delay_s), belief.delay_s
        estimate, force = self._predict(believed, -belief.period_s, 0.0, estimate, force, LONGEST_STEP_S)
        estimate = estimate + loop.kalman @ (body[:2] - estimate[:2])
        ahead, acting = self._predict(believed, 0.0, act_s, estimate, force, LONGEST_STEP_S)
        start_s = act_s + belief.lag_s / loop.lead
        ahead, _ = self._predict(believed, act_s, start_s, ahead, acting, LONGEST_STEP_S)
        feedback = loop.position_gain * ahead[0] + loop.velocity_gain * ahead[1] + loop.wrench_gain * ahead[2]
        wanted = loop.previous_gain * previous - feedback
        command = wanted if belief.lag_s <= 1e-6 else acting + loop.lead * (wanted - acting)
        return np.concatenate([body, estimate, force[None], wanted[None], command[None], given[:-1]])

    def _history(self, given: Array, lag_s: float, delay_s: float) -> ActuatorState:
        """A period apart, the newest given a period ago; now is zero."""
        history = ActuatorState(given.shape[1], lag_s, delay_s)
        for k in range(len(given) - 1, -1, -1):
            history.command(-(k + 1) * self._loop.belief.period_s, given[k])
        return history

    def _predict(
        self, history: ActuatorState, start_s: float, end_s: float, state: Array, force: Array, longest_s: float
    ) -> tuple[Array, Array]:
        loop = self._loop
        for segment in history.segments(start_s, end_s, longest_s):
            move = _transition(loop.mass, loop.damping, loop.stiffness, round(segment.duration_s, 9))
            state = move[:3, :3] @ state + move[:3, 3:] * segment.mean_N(force)
            force = segment.end_N(force)
        return state, force

    def _vehicle(self, body: Array, given: Array) -> Array:
        """The truth from a period ago until now, in steps short enough for a mean force; no unknown wrench acts."""
        history = self._history(self._gain * given, self._lag_s, self._delay_s)
        state = np.concatenate([body[:2], np.zeros((1, body.shape[1]))])
        state, force = self._predict(history, -self._loop.belief.period_s, 0.0, state, body[2], PLANT_STEP_S)
        return np.concatenate([state[:2], force[None]])


@lru_cache(maxsize=4096)
def _transition(mass: float, damping: float, stiffness: float, duration_s: float) -> Array:
    """Of position, velocity, wrench and thrust (4,4)."""
    a = np.zeros((4, 4))
    a[0, 1] = 1.0
    a[1] = [-stiffness / mass, -damping / mass, 1 / mass, 1 / mass]
    return np.asarray(scipy.linalg.expm(a * duration_s))
