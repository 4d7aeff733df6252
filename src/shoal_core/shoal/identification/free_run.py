"""The model run freely from a state, with the derivatives that a fit needs, many windows at a time."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import compiled
from shoal.messages.state import ATTITUDE
from shoal.vehicles.dynamics import Dynamics, normalised, rk4
from shoal.vehicles.parameters import Structure

Array = NDArray[np.float64]


@lru_cache(maxsize=8)
def step_with_derivatives(structure: Structure) -> ca.Function:
    """(x13, force n, current 3, theta, dt) → x⁺ and its Jacobians by x, force, current and theta."""
    dynamics = Dynamics(structure)
    x, force, current = ca.SX.sym("x", 13), ca.SX.sym("force", structure.thruster_count), ca.SX.sym("current", 3)
    theta, dt = ca.SX.sym("theta", structure.length), ca.SX.sym("dt")
    p = structure.split(theta)
    tau = dynamics.wrench(p, force)
    moved = normalised(rk4(lambda y: dynamics.quaternion_ode(p, y, tau, current), x, dt))
    hydro = structure.length - structure.sizes["thrust"]  # the thrust matrix, which comes last, is not looked for
    jacobians = [ca.densify(ca.jacobian(moved, v)) for v in (x, force, current)]
    jacobians.append(ca.densify(ca.jacobian(moved, theta)[:, :hydro]))
    return compiled(ca.Function("fit_step", [x, force, current, theta, dt], [moved, *jacobians]))


class FreeRun:
    """W windows of K steps side by side."""

    def __init__(self, structure: Structure, windows: int) -> None:
        self._step = step_with_derivatives(structure).map(windows) if windows > 1 else step_with_derivatives(structure)
        self._windows = windows

    def __call__(
        self,
        starts: Array,
        forces: Array,
        current_mps: Array,
        theta: Array,
        step_s: float,
        by_parameters: ByParameters,
        tilted: Array | None = None,
    ) -> tuple[Array, Array, Array]:
        """States (W,K+1,13) from starts (W,13) with forces (W,K,S,n) in S parts of each step; derivatives by start
        error (…,13,12) and parameters (…,13,P). `tilted` (W,K+1,13): states whose roll and pitch are taken over."""
        w, steps, parts = forces.shape[:3]
        count = by_parameters.count
        states, by_start = np.empty((w, steps + 1, 13)), np.zeros((w, steps + 1, 13, 12))
        by_p = np.zeros((w, steps + 1, 13, count))
        states[:, 0], by_start[:, 0] = starts, start_directions(starts)
        currents = np.tile(current_mps[:, None], (1, w))
        thetas, dts = np.tile(theta[:, None], (1, w)), np.full((1, w), step_s / parts)
        for k in range(steps):
            states[:, k + 1], by_start[:, k + 1], by_p[:, k + 1] = states[:, k], by_start[:, k], by_p[:, k]
            for part in range(parts):
                out = self._step(states[:, k + 1].T, forces[:, k, part].T, currents, thetas, dts)
                states[:, k + 1] = np.array(out[0]).T
                a, b, c, d = (_blocks(np.array(o), w) for o in out[1:])
                by_start[:, k + 1] = a @ by_start[:, k + 1]
                by_p[:, k + 1] = a @ by_p[:, k + 1] + by_parameters.step((k, part), b, c, d)
            if tilted is not None:
                states[:, k + 1], kept = with_tilt(states[:, k + 1], tilted[:, k + 1])
                by_start[:, k + 1], by_p[:, k + 1] = kept @ by_start[:, k + 1], kept @ by_p[:, k + 1]
        return states, by_start, by_p


class ByParameters:
    """How force, current and the model's numbers change with the unknowns."""

    def __init__(self, force: Array, current: Array, theta: Array) -> None:
        """`force` (W,K,S,n,P), `current` (3,P), `theta` (hydro,P)."""
        self._force, self._current, self._theta = force, current, theta
        self.count = theta.shape[1]

    def step(self, at: tuple[int, int], by_force: Array, by_current: Array, by_theta: Array) -> Array:
        """(W,13,P) of one part of a step."""
        return np.asarray(by_force @ self._force[:, at[0], at[1]] + by_current @ self._current + by_theta @ self._theta)


def with_tilt(states: Array, measured: Array) -> tuple[Array, Array]:
    """States (W,13) with roll, pitch and their rates as `measured` (W,13), and the derivative (W,13,13) of it.

    Where an autopilot holds them with thrust that nobody logged, they are an input and no prediction.
    """
    w, x, y, z = np.moveaxis(states[:, ATTITUDE], -1, 0)
    sine, cosine = 2 * (w * z + x * y), 1 - 2 * (y**2 + z**2)
    by_sine, by_cosine = cosine / (sine**2 + cosine**2), -sine / (sine**2 + cosine**2)
    none = np.zeros_like(w)
    by_sines, by_cosines = np.stack([2 * z, 2 * y, 2 * x, 2 * w]), np.stack([none, none, -4 * y, -4 * z])
    turn = by_sine * by_sines + by_cosine * by_cosines  # (4,W): of the heading by the quaternion
    wm, xm, ym, zm = np.moveaxis(measured[:, ATTITUDE], -1, 0)
    half = (np.arctan2(sine, cosine) - np.arctan2(2 * (wm * zm + xm * ym), 1 - 2 * (ym**2 + zm**2))) / 2
    c, s = np.cos(half), np.sin(half)  # measured attitude, turned about the vertical to the predicted heading
    turned = np.stack([c * wm - s * zm, c * xm - s * ym, c * ym + s * xm, c * zm + s * wm], axis=-1)
    by_heading = 0.5 * np.stack([-s * wm - c * zm, -s * xm - c * ym, -s * ym + c * xm, -s * zm + c * wm], axis=-1)
    found, kept = states.copy(), np.tile(np.eye(13), (len(states), 1, 1))
    found[:, ATTITUDE], found[:, 10:12] = turned, measured[:, 10:12]
    kept[:, ATTITUDE, ATTITUDE] = by_heading[:, :, None] * turn.T[:, None, :]
    kept[:, 10:12, 10:12] = 0.0
    return found, kept


def start_directions(starts: Array) -> Array:
    """(W,13,12): position, attitude (small turns in the body frame), velocity, rate."""
    found = np.zeros((len(starts), 13, 12))
    found[:, 0:3, 0:3] = np.eye(3)
    found[:, 7:13, 6:12] = np.eye(6)
    found[:, ATTITUDE, 3:6] = 0.5 * body_turns(starts[:, ATTITUDE])
    return found


def body_turns(q: Array) -> Array:
    """(W,4,3): d(q ⊗ [1, φ]) by φ."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]
    return np.stack([np.stack(r, axis=-1) for r in rows], axis=-2)


def _blocks(stacked: Array, count: int) -> Array:
    """(13, W·m) side by side → (W,13,m)."""
    return np.asarray(stacked.reshape(13, count, -1).transpose(1, 0, 2))
