"""Multiple shooting over short windows with free start states, Gauss–Newton, Gaussian priors on everything.

Long free runs are chaotic to fit, one-step errors flatter every model; a second in between shows mass, drag and lag.
Each window's start state is unknown too and is eliminated (Schur complement), so that noise on it biases nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.identification.free_run import ByParameters, FreeRun, body_turns
from shoal.identification.measured_point import POINT, compare
from shoal.identification.motion_data import MotionData, SensorNoise
from shoal.identification.thrust_model import ThrustTiming, force_sensitivities
from shoal.identification.unknowns import Unknown, apply_all, vehicle_unknowns
from shoal.messages.state import ATTITUDE
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import parameter_vector, structure_of

Array = NDArray[np.float64]
YAW, YAW_RATE = 5, 12  # axis, and its place in a state
# A heading that is merely held shows its inertia through the thrusters' gains and little else: 5 to 7 % off.
LEAST_TURN_RADPS = 0.1  # RMS
UNKNOWN_S = 1.0  # at the beginning the force of earlier commands still acts, and nobody recorded those


@dataclass(frozen=True)
class FitSettings:
    """How it is done."""

    window_s: float = 1.0
    sag_sigma: float = 0.0  # of the share of thrust lost per 100 N of all thrusters together; 0: a stiff supply
    thrust_scale_sigma: float = 0.0  # of the common scale; 0: thrust is in newtons for sure, as in the simulator
    gain_sigma: float = 0.03  # of each thruster
    lag_sigma_s: float = 0.08
    delay_s: float = 0.05
    delay_sigma_s: float = 0.08
    current_sigma_mps: float = 0.0  # 0: still water
    point_sigma_m: float = 0.0  # of the point that the odometry is of; 0: the vehicle's origin
    converged: float = 0.02  # largest step, in units of the unknown's own interval (one sigma)
    most_iterations: int = 60
    axes: tuple[int, ...] = (0, 1, 2, 3, 4, 5)  # which are fitted; of the others only a window's start is believed
    tilt_measured: bool = False  # roll and pitch are taken from the log within a window, too; then they are not fitted
    only: tuple[str, ...] = ()  # unknowns to look for, all others stay; empty: look for all
    unexcited: float = 0.5  # an interval still wider than this share of the prior's: not seen, stays at the prior


@dataclass(frozen=True)
class Fit:
    """What was found."""

    vehicle: Vehicle
    unknowns: tuple[Unknown, ...]
    values: Array  # (P,)
    covariance: Array  # (P,P)
    misfit: float  # s²: squared residual per degree of freedom; 1 where model and noise are right
    iterations: int
    unexcited: tuple[str, ...]  # left at their priors
    residuals: Array  # (W,K+1,12) in units of sigma

    def value(self, name: str) -> tuple[float, float]:
        """By name, with one sigma."""
        i = [u.name for u in self.unknowns].index(name)
        return float(self.values[i]), float(np.sqrt(self.covariance[i, i]))


class Problem:
    """All windows of all recordings of one vehicle."""

    def __init__(
        self, data: Sequence[MotionData], vehicle: Vehicle, noise: SensorNoise | None, settings: FitSettings
    ) -> None:
        for entry in data:
            entry.check()
            if entry.thrust_N.shape[1] != vehicle.input_count:
                raise ShoalError(
                    f"{entry.source}: {entry.thrust_N.shape[1]} thrusters; expected the {vehicle.input_count} "
                    f"of {vehicle.name}"
                )
            if abs(entry.step_s - data[0].step_s) > 1e-3 * data[0].step_s:
                raise ShoalError(
                    f"{entry.source}: time step of {entry.step_s:.4g} s; expected the {data[0].step_s:.4g} s of "
                    f"{data[0].source} (step_s of a column map sets it)"
                )
        self.data, self.vehicle, self.settings = data, vehicle, settings
        self.structure = structure_of(vehicle)
        self.step_s = data[0].step_s
        self.steps = max(2, round(settings.window_s / self.step_s))
        self.unknowns = tuple(vehicle_unknowns(vehicle)) + tuple(self._others(vehicle))
        self.prior = np.array([u.prior for u in self.unknowns])
        self.sigma = np.array([u.sigma for u in self.unknowns])
        self.least = np.array([u.least for u in self.unknowns])
        self.free = np.ones(len(self.unknowns), dtype=bool)  # those that derivatives are made for
        first = round(UNKNOWN_S / self.step_s)
        self._windows = [
            (i, k) for i, d in enumerate(data) for k in range(first, len(d.states) - self.steps, self.steps)
        ]
        if len(self._windows) < 5:
            raise ShoalError(
                f"{data[0].source}: {sum(d.duration_s for d in data):.1f} s of motion; expected at least five windows "
                f"of {settings.window_s:g} s"
            )
        self.weights = np.array([(noise or data[i].noise).weights for i, _ in self._windows])[:, None]  # (W,1,12)
        self.weights = np.repeat(self.weights, self.steps + 1, axis=1)  # (W,K+1,12)
        for axis in set(range(6)) - set(settings.axes):  # moved by forces that nobody logged
            self.weights[:, 1:, [axis, 6 + axis]] = 0.0
        self.measured = np.array([self.data[i].states[k : k + self.steps + 1] for i, k in self._windows])
        self._run = FreeRun(self.structure, len(self._windows))
        self._dead_band = np.array([t.dead_band_N for t in vehicle.thrusters])

    def _others(self, vehicle: Vehicle) -> list[Unknown]:
        s = self.settings
        lag_s = float(np.mean(vehicle.input_lag_s))
        found = [Unknown("thruster lag", "s", lag_s, s.lag_sigma_s, None, least=0.0)]
        found.append(Unknown("delay", "s", s.delay_s, s.delay_sigma_s, None))
        if s.thrust_scale_sigma > 0:
            found.append(Unknown("thrust scale", "", 1.0, s.thrust_scale_sigma, None, least=0.05))
        if s.sag_sigma > 0:
            found.append(Unknown("sag", "per 100 N", 0.0, s.sag_sigma, None, least=0.0))
        found += [Unknown(f"gain of {name}", "", 1.0, s.gain_sigma, None) for name in vehicle.input_names]
        if s.current_sigma_mps > 0:
            found += [Unknown(f"current {way}", "m/s", 0.0, s.current_sigma_mps, None) for way in ("north", "east")]
        if s.point_sigma_m > 0:
            found += [Unknown(name, "m", 0.0, s.point_sigma_m, None) for name in POINT]
        return found

    def index(self, name: str) -> int | None:
        """Of an unknown."""
        names = [u.name for u in self.unknowns]
        return names.index(name) if name in names else None

    def linearise(self, values: Array, starts: Array) -> tuple[Array, Array, Array]:
        """Residuals (W,K+1,12) in sigmas, and their derivatives by start errors (…,12) and unknowns (…,P)."""
        vehicle = apply_all(self.vehicle, list(self.unknowns), values)
        forces, by_parameters = self._inputs(values)
        current = self._current(values)
        theta = parameter_vector(vehicle, self.structure)
        held = self.measured if self.settings.tilt_measured else None
        states, by_start, by_p = self._run(starts, forces, current, theta, self.step_s, by_parameters, held)
        off = self.index(POINT[0])
        point_m = np.zeros(3) if off is None else values[off : off + 3]
        residual, slope, by_point = compare(states, self.measured, point_m)
        weighted = self.weights[..., None]
        by_unknown = np.zeros((*residual.shape, len(values)))
        by_unknown[..., self.free] = slope @ by_p
        if off is not None:
            by_unknown[..., off : off + 3] += by_point * self.free[off : off + 3]
        return residual * self.weights, (slope @ by_start) * weighted, by_unknown * weighted

    def residuals(self, values: Array, starts: Array) -> Array:
        """Without derivatives."""
        return self.linearise(values, starts)[0]

    def _current(self, values: Array) -> Array:
        north = self.index("current north")
        return np.zeros(3) if north is None else np.array([values[north], values[north + 1], 0.0])

    def _inputs(self, values: Array) -> tuple[Array, ByParameters]:
        """Forces (W,K,S,n) and how everything depends on the unknowns."""
        count, n = len(values), self.vehicle.input_count
        lag, delay, scale = self.index("thruster lag"), self.index("delay"), self.index("thrust scale")
        first = self.index(f"gain of {self.vehicle.input_names[0]}")
        assert lag is not None and delay is not None and first is not None
        timing = ThrustTiming(float(values[lag]), float(values[delay]))
        common = 1.0 if scale is None else float(values[scale])
        gains = values[first : first + n]
        sag = self.index("sag")
        lost = 0.0 if sag is None else float(values[sag])
        parts = [force_sensitivities(d.thrust_N, self.step_s, timing, self._dead_band, lost) for d in self.data]

        def windows(which: int) -> Array:
            return np.array([parts[i][which][k : k + self.steps] for i, k in self._windows])

        unit, by_lag, by_delay = windows(0), windows(1), windows(2)
        by = np.zeros((*unit.shape, count))
        by[..., lag], by[..., delay] = common * gains * by_lag, common * gains * by_delay
        if scale is not None:
            by[..., scale] = gains * unit
        if sag is not None:
            by[..., sag] = common * gains * windows(3)
        for j in range(n):
            by[..., j, first + j] = common * unit[..., j]
        by_current = np.zeros((3, count))
        if (north := self.index("current north")) is not None:
            by_current[0, north] = by_current[1, north + 1] = 1.0
        free = self.free
        return common * gains * unit, ByParameters(by[..., free], by_current[:, free], self._by_theta(values)[:, free])

    def _by_theta(self, values: Array) -> Array:
        """d theta / d unknowns (hydro,P), by differences: each unknown is a plain change of the description."""
        hydro = self.structure.length - self.structure.sizes["thrust"]
        found = np.zeros((hydro, len(values)))
        for i, unknown in enumerate(self.unknowns):
            if unknown.apply is None or not self.free[i]:
                continue
            off = 1e-5 * max(abs(values[i]), unknown.sigma)
            ends = []
            for sign in (1, -1):
                changed = values.copy()
                changed[i] += sign * off
                vehicle = apply_all(self.vehicle, list(self.unknowns), changed)
                ends.append(parameter_vector(vehicle, self.structure)[:hydro])
            found[:, i] = (ends[0] - ends[1]) / (2 * off)
        return found


def fit(
    data: Sequence[MotionData],
    vehicle: Vehicle,
    noise: SensorNoise | None = None,
    settings: FitSettings | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Find the unknowns; those that the motion does not show keep their priors, and are named.

    `progress` gets the iteration and the size of the step, in units of the intervals.
    """
    settings = settings or FitSettings()
    if settings.tilt_measured and {3, 4} & set(settings.axes):
        raise ShoalError("fit: roll and pitch are taken as measured; expected --axes without them")
    problem = Problem(data, vehicle, noise, settings)
    free = np.array([
        (not settings.only or u.name in settings.only) and (u.axis is None or u.axis in settings.axes)
        for u in problem.unknowns
    ])  # fmt: skip
    if not {3, 4} <= set(settings.axes):  # only roll and pitch show it
        free &= np.array([u.name != "righting arm" for u in problem.unknowns])
    if not free.any():
        raise ShoalError(f"fit: only = {', '.join(settings.only)}; expected names of unknowns")
    solution = _solve(problem, problem.prior.copy(), problem.measured[:, 0].copy(), free, settings, progress)
    unseen = _unseen(problem, solution.covariance, settings.unexcited) & free
    if unseen.any():  # left free they would drift along with what is seen, and spoil it
        free = free & ~unseen
        start = np.where(free, solution.values, problem.prior)
        solution = _solve(problem, start, solution.starts, free, settings, progress)
    names = tuple(u.name for u, left in zip(problem.unknowns, unseen, strict=True) if left)
    fitted = apply_all(vehicle, list(problem.unknowns), solution.values)
    return Fit(
        fitted, problem.unknowns, solution.values, solution.covariance, solution.misfit, solution.iterations, names,
        solution.residuals,
    )  # fmt: skip


def _unseen(problem: Problem, covariance: Array, share: float) -> NDArray[np.bool_]:
    """(P,) coefficients whose intervals stay wider than that share of their priors'."""
    found = np.sqrt(np.diag(covariance)) > share * problem.sigma
    mass = [u.name for u in problem.unknowns].index("mass")
    for i, unknown in enumerate(problem.unknowns):
        # With the centre of gravity at the origin only mass and added mass together show. Held at its prior for that,
        # one would tie its axis to the others, and thrust would be scaled until it fits.
        if unknown.name.endswith("added mass") and unknown.axis in (0, 1, 2):
            both = covariance[mass, mass] + covariance[i, i] + 2 * covariance[mass, i]
            found[i] = both > share**2 * (problem.sigma[mass] ** 2 + problem.sigma[i] ** 2)
    axes = np.array([-1 if u.axis is None else u.axis for u in problem.unknowns])
    if share < 1 and np.mean(problem.measured[..., YAW_RATE] ** 2) < LEAST_TURN_RADPS**2:
        found |= axes == YAW
    return np.asarray(found & (axes >= 0))


@dataclass(frozen=True)
class _Solution:
    values: Array
    starts: Array
    covariance: Array
    misfit: float
    iterations: int
    residuals: Array


def _solve(
    problem: Problem,
    values: Array,
    starts: Array,
    free: NDArray[np.bool_],
    settings: FitSettings,
    progress: Callable[[int, float], None] | None,
) -> _Solution:
    """Levenberg–Marquardt until the step is small in units of each unknown's own interval; never by a count."""
    damping, problem.free = 1e-3, free
    information = np.where(free, 1 / problem.sigma**2, 0.0)
    at = problem.linearise(values, starts)  # residuals and derivatives; those of an accepted step serve the next one
    cost = float(np.sum(at[0] ** 2) + np.sum((values - problem.prior) ** 2 * information))
    for iteration in range(1, settings.most_iterations + 1):
        at_last = at
        while True:
            step, moves, covariance, promised = _bounded_step(at_last, information, values, problem, free, damping)
            trial, trial_starts = np.maximum(values + step, problem.least), _moved(starts, moves)
            after = np.inf
            if np.isfinite(trial).all():
                at = problem.linearise(trial, trial_starts)
                after = float(np.sum(at[0] ** 2) + np.sum((trial - problem.prior) ** 2 * information))
            if np.isfinite(at[2]).all() and after <= cost * (1 + 1e-9):
                break
            damping = max(10 * damping, 1e-4)
            if damping > 1e8:
                raise ShoalError(
                    f"{problem.data[0].source}: the fit finds no better values; expected motion that the model can "
                    "follow at all (right thruster order and signs?)"
                )
        size = float(np.max(np.abs((trial - values)[free]) / np.sqrt(np.diag(covariance))[free]))
        # Where the model is wrong, too, curvature that Gauss–Newton leaves out makes full steps overshoot to and fro.
        kept = (cost - after) / max(promised, 1e-12 * cost)
        damping = (
            max(damping / 10, 1e-9) if kept > 0.75 else min(4 * max(damping, 1e-3), 10.0) if kept < 0.25 else damping
        )
        values, starts, cost = trial, trial_starts, after
        if progress is not None:
            progress(iteration, size)
        if size < settings.converged and damping < 1:  # a step that only the damping made small proves nothing
            break
    else:
        raise ShoalError(
            f"{problem.data[0].source}: not converged after {settings.most_iterations} iterations (last step "
            f"{size:.2g} sigma); expected longer or richer motion"
        )
    residual = at[0]
    covariance = _NormalEquations(at, information, values, problem).covariance(free)
    freedom = int(np.count_nonzero(problem.weights)) - starts.shape[0] * 12 - int(free.sum())
    return _Solution(values, starts, covariance, float(np.sum(residual**2)) / freedom, iteration, residual)


Linearised = tuple[Array, Array, Array]  # residuals, derivatives by start errors and by unknowns


class _NormalEquations:
    """Of the unknowns alone; start states are eliminated window by window (Schur complement)."""

    def __init__(
        self, at: Linearised, information: Array, values: Array, problem: Problem, damping: float = 0.0
    ) -> None:
        residual, by_start, by_p = at
        w, count = residual.shape[0], by_p.shape[-1]
        r = residual.reshape(w, -1)
        js, jp = by_start.reshape(w, -1, 12), by_p.reshape(w, -1, count)
        ss = js.transpose(0, 2, 1) @ js
        ss[:, range(12), range(12)] *= 1 + damping
        sp, gs = js.transpose(0, 2, 1) @ jp, np.einsum("wri,wr->wi", js, r)
        self._solved_p, self._solved_g = np.linalg.solve(ss, sp), np.linalg.solve(ss, gs[..., None])[..., 0]
        flat, across = jp.reshape(-1, count), sp.reshape(-1, count)
        self._h = flat.T @ flat - across.T @ self._solved_p.reshape(-1, count) + np.diag(information)
        self._g = flat.T @ r.ravel() - across.T @ self._solved_g.ravel() + information * (values - problem.prior)
        self._prior_sigma, self._by_starts = problem.sigma, float(np.sum(gs * self._solved_g))

    def decrease(self, step: Array) -> float:
        """Of the cost, were the residuals linear."""
        return self._by_starts - float(step @ (2 * self._g + self._h @ step))

    def covariance(self, free: NDArray[np.bool_]) -> Array:
        """(P,P); what stays at its prior keeps the prior's."""
        found, index = np.diag(self._prior_sigma**2), np.flatnonzero(free)
        found[np.ix_(index, index)] = np.linalg.inv(self._h[np.ix_(index, index)])
        return found

    def step(self, free: NDArray[np.bool_], given: Array, damping: float) -> Array:
        """(P,) of the free unknowns, the others moving by `given`."""
        step, index = np.where(free, 0.0, given), np.flatnonzero(free)
        inner = self._h[np.ix_(index, index)]
        gradient = self._g[index] + self._h[index] @ step
        step[index] = -np.linalg.solve(inner + damping * np.diag(np.diag(inner)), gradient)
        return step

    def start_moves(self, step: Array) -> Array:
        """(W,12) of the start states that go with a step of the unknowns."""
        return -(self._solved_g + self._solved_p @ step)


def _bounded_step(
    at: Linearised, information: Array, values: Array, problem: Problem, free: NDArray[np.bool_], damping: float
) -> tuple[Array, Array, Array, float]:
    """One step of the unknowns (P,) and of the start states (W,12), covariance (P,P), and what the cost should lose.

    An unknown that would pass its bound goes to the bound, and the others are solved for anew: a step that is merely
    clipped leaves them where they would be right for a value that is not allowed, and the fit zigzags.
    """
    equations = _NormalEquations(at, information, values, problem, damping)
    to_bound = problem.least - values
    inner, given = free.copy(), np.zeros(len(values))
    while True:
        step = equations.step(inner, given, damping)
        past = inner & (step < to_bound)
        if not past.any():
            return step, equations.start_moves(step), equations.covariance(free), equations.decrease(step)
        inner &= ~past
        given[past] = to_bound[past]


def _moved(starts: Array, moves: Array) -> Array:
    found = starts.copy()
    found[:, 0:3] += moves[:, 0:3]
    found[:, 7:13] += moves[:, 6:12]
    found[:, ATTITUDE] += 0.5 * np.einsum("wij,wj->wi", body_turns(starts[:, ATTITUDE]), moves[:, 3:6])
    found[:, ATTITUDE] /= np.linalg.norm(found[:, ATTITUDE], axis=1, keepdims=True)
    return found
