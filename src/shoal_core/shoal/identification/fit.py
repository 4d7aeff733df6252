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
from shoal.identification.motion_data import MotionData, SensorNoise
from shoal.identification.thrust_model import ThrustTiming, force_sensitivities
from shoal.identification.unknowns import Unknown, apply_all, vehicle_unknowns
from shoal.messages.state import ATTITUDE
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import parameter_vector, structure_of

Array = NDArray[np.float64]
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
    converged: float = 0.02  # largest step, in units of the unknown's own interval (one sigma)
    most_iterations: int = 60
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
        self.measured = np.array([self.data[i].states[k : k + self.steps + 1] for i, k in self._windows])
        self._run = FreeRun(self.structure, len(self._windows))
        self._dead_band = np.array([t.dead_band_N for t in vehicle.thrusters])

    def _others(self, vehicle: Vehicle) -> list[Unknown]:
        s = self.settings
        lag_s = float(np.mean(vehicle.input_lag_s))
        found = [Unknown("thruster lag", "s", lag_s, s.lag_sigma_s, None, positive=True)]
        found.append(Unknown("delay", "s", s.delay_s, s.delay_sigma_s, None))
        if s.thrust_scale_sigma > 0:
            found.append(Unknown("thrust scale", "", 1.0, s.thrust_scale_sigma, None, positive=True))
        if s.sag_sigma > 0:
            found.append(Unknown("sag", "per 100 N", 0.0, s.sag_sigma, None, positive=True))
        found += [Unknown(f"gain of {name}", "", 1.0, s.gain_sigma, None) for name in vehicle.input_names]
        if s.current_sigma_mps > 0:
            found += [Unknown(f"current {way}", "m/s", 0.0, s.current_sigma_mps, None) for way in ("north", "east")]
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
        states, by_start, by_p = self._run(starts, forces, current, theta, self.step_s, by_parameters)
        residual, slope = _compare(states, self.measured)
        weighted = self.weights[..., None]
        return residual * self.weights, (slope @ by_start) * weighted, (slope @ by_p) * weighted

    def residuals(self, values: Array, starts: Array) -> Array:
        """Without derivatives."""
        return self.linearise(values, starts)[0]

    def _current(self, values: Array) -> Array:
        north = self.index("current north")
        return np.zeros(3) if north is None else np.array([values[north], values[north + 1], 0.0])

    def _inputs(self, values: Array) -> tuple[Array, ByParameters]:
        """Forces (W,K,n) and how everything depends on the unknowns."""
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
        return common * gains * unit, ByParameters(by, by_current, self._by_theta(values))

    def _by_theta(self, values: Array) -> Array:
        """d theta / d unknowns (hydro,P), by differences: each unknown is a plain change of the description."""
        hydro = self.structure.length - self.structure.sizes["thrust"]
        found = np.zeros((hydro, len(values)))
        for i, unknown in enumerate(self.unknowns):
            if unknown.apply is None:
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
    problem = Problem(data, vehicle, noise, settings)
    free = np.array([not settings.only or u.name in settings.only for u in problem.unknowns])
    if not free.any():
        raise ShoalError(f"fit: only = {', '.join(settings.only)}; expected names of unknowns")
    solution = _solve(problem, problem.prior.copy(), problem.measured[:, 0].copy(), free, settings, progress)
    sigma = np.sqrt(np.diag(solution.covariance))
    hydrodynamic = np.array([u.axis is not None for u in problem.unknowns])
    unseen = hydrodynamic & free & (sigma > settings.unexcited * problem.sigma)
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
    damping, cost = 1e-3, np.inf
    floor = np.array([0.0 if u.positive else -np.inf for u in problem.unknowns])
    information = np.where(free, 1 / problem.sigma**2, 0.0)
    for iteration in range(1, settings.most_iterations + 1):
        residual, by_start, by_p = problem.linearise(values, starts)
        prior_gap = (values - problem.prior) * np.sqrt(information)
        now = float(np.sum(residual**2) + np.sum(prior_gap**2))
        if iteration == 1:
            cost = now
        while True:
            step, moves, covariance = _normal_step(
                residual, by_start, by_p, information, values, problem, free, damping
            )
            held = free & (values <= floor) & (step < 0)
            if held.any():  # at its bound and pushed against it: the others go on without it
                step, moves, _ = _normal_step(
                    residual, by_start, by_p, information, values, problem, free & ~held, damping
                )
            trial, trial_starts = _bounded(values + step, problem), _moved(starts, moves)
            after = float(np.sum(problem.residuals(trial, trial_starts) ** 2))
            after += float(np.sum(((trial - problem.prior) ** 2) * information))
            if np.isfinite(after) and after <= cost * (1 + 1e-9):
                break
            damping *= 10
            if damping > 1e8:
                raise ShoalError(
                    f"{problem.data[0].source}: the fit finds no better values; expected motion that the model can "
                    "follow at all (right thruster order and signs?)"
                )
        size = float(np.max(np.abs((trial - values)[free]) / np.sqrt(np.diag(covariance))[free]))
        values, starts, cost, damping = trial, trial_starts, after, max(damping / 10, 1e-9)
        if progress is not None:
            progress(iteration, size)
        if size < settings.converged:
            break
    else:
        raise ShoalError(
            f"{problem.data[0].source}: not converged after {settings.most_iterations} iterations (last step "
            f"{size:.2g} sigma); expected longer or richer motion"
        )
    residual, by_start, by_p = problem.linearise(values, starts)
    _, _, covariance = _normal_step(residual, by_start, by_p, information, values, problem, free, 0.0)
    freedom = residual.size - starts.shape[0] * 12 - int(free.sum())
    return _Solution(values, starts, covariance, float(np.sum(residual**2)) / freedom, iteration, residual)


def _normal_step(
    residual: Array,
    by_start: Array,
    by_p: Array,
    information: Array,
    values: Array,
    problem: Problem,
    free: NDArray[np.bool_],
    damping: float,
) -> tuple[Array, Array, Array]:
    """One step of the unknowns (P,) and of the start states (W,12); start states eliminated window by window."""
    w, count = residual.shape[0], by_p.shape[-1]
    r = residual.reshape(w, -1)
    js, jp = by_start.reshape(w, -1, 12), by_p.reshape(w, -1, count)
    ss = js.transpose(0, 2, 1) @ js
    ss[:, range(12), range(12)] *= 1 + damping
    sp, gs = js.transpose(0, 2, 1) @ jp, np.einsum("wri,wr->wi", js, r)
    solved_p, solved_g = np.linalg.solve(ss, sp), np.linalg.solve(ss, gs[..., None])[..., 0]
    h = np.einsum("wri,wrj->ij", jp, jp) - np.einsum("wki,wkj->ij", sp, solved_p)
    g = np.einsum("wri,wr->i", jp, r) - np.einsum("wki,wk->i", sp, solved_g)
    h += np.diag(information)
    g = g + information * (values - problem.prior)
    covariance = np.diag(problem.sigma**2)  # of what stays at its prior
    index = np.flatnonzero(free)
    inner = h[np.ix_(index, index)]
    covariance[np.ix_(index, index)] = np.linalg.inv(inner)
    step = np.zeros(count)
    step[index] = -np.linalg.solve(inner + damping * np.diag(np.diag(inner)), g[index])
    moves = -(solved_g + solved_p @ step)
    return step, moves, covariance


def _bounded(values: Array, problem: Problem) -> Array:
    """Drag, lag and scale stay positive."""
    floor = np.array([0.0 if u.positive else -np.inf for u in problem.unknowns])
    return np.maximum(values, floor)


def _moved(starts: Array, moves: Array) -> Array:
    found = starts.copy()
    found[:, 0:3] += moves[:, 0:3]
    found[:, 7:13] += moves[:, 6:12]
    found[:, ATTITUDE] += 0.5 * np.einsum("wij,wj->wi", body_turns(starts[:, ATTITUDE]), moves[:, 3:6])
    found[:, ATTITUDE] /= np.linalg.norm(found[:, ATTITUDE], axis=1, keepdims=True)
    return found


def _compare(states: Array, measured: Array) -> tuple[Array, Array]:
    """Residual (…,12) of predicted against measured states (…,13), and its derivative (…,12,13) by the predicted."""
    residual, slope = np.zeros((*states.shape[:-1], 12)), np.zeros((*states.shape[:-1], 12, 13))
    residual[..., 0:3] = states[..., 0:3] - measured[..., 0:3]
    residual[..., 6:12] = states[..., 7:13] - measured[..., 7:13]
    slope[..., 0:3, 0:3], slope[..., 6:12, 7:13] = np.eye(3), np.eye(6)
    # Small turn from the measured to the predicted attitude, seen in the measured frame: 2 (q_m* ⊗ q_p)_vec.
    q_m, q_p = measured[..., ATTITUDE], states[..., ATTITUDE]
    same = np.sign(np.sum(q_m * q_p, axis=-1))[..., None]
    turns = 2 * np.swapaxes(body_turns(same * q_m), -1, -2)  # (…,3,4)
    residual[..., 3:6] = np.einsum("...ij,...j->...i", turns, q_p)
    slope[..., 3:6, 3:7] = turns
    return residual, slope
