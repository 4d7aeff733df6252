"""Velocity from position at 200 Hz by a constant-velocity Kalman filter (Nielsen 2018, (6.8) to (6.13))."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.identification.procedures.finding import Finding

Array = NDArray[np.float64]


def filtered(positions: Array, step_s: float = 0.005, position_sigma: float = 1e-3, jerkiness: float = 0.5) -> Array:
    """States (T,4) [x y ẋ ẏ] of two channels (T,2); `jerkiness` is the density of white acceleration, m/s²/√Hz.

    Samples that are not finite (a marker out of sight) are bridged by the prediction.
    """
    f = np.kron(np.array([[1, step_s], [0, 1]]), np.eye(2))
    h = np.hstack([np.eye(2), np.zeros((2, 2))])
    q = jerkiness**2 * np.kron(np.array([[step_s**3 / 3, step_s**2 / 2], [step_s**2 / 2, step_s]]), np.eye(2))
    r = position_sigma**2 * np.eye(2)
    first = positions[np.isfinite(positions).all(axis=1)][0]
    x, p = np.concatenate([first, np.zeros(2)]), np.diag([position_sigma**2] * 2 + [1.0] * 2)
    found = np.empty((len(positions), 4))
    for k, measured in enumerate(positions):
        if k:
            x, p = f @ x, f @ p @ f.T + q
        if np.isfinite(measured).all():
            gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
            x = x + gain @ (measured - h @ x)
            left = np.eye(4) - gain @ h
            p = left @ p @ left.T + gain @ r @ gain.T  # Joseph's form (6.13)
        found[k] = x
    return found


def demonstrate(seed: int) -> list[Finding]:
    """A circle of 1 m at 0.5 m/s, millimetre noise."""
    rng = np.random.default_rng([seed, 83])
    t = np.arange(0, 8, 0.005)
    truth = np.stack([np.cos(0.5 * t), np.sin(0.5 * t)], axis=1)
    found = filtered(truth + rng.normal(0, 1e-3, truth.shape))[400:]
    speed = float(np.hypot(found[:, 2], found[:, 3]).mean())
    return [Finding("speed", "m/s", 0.5, speed, "lags behind quick changes by the filter's own time constant")]
