"""Thrust against pulse width from a staircase of pulses on load cells (Nielsen 2018, 4.4; (4.8), (4.14))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

from shoal.errors import ShoalError
from shoal.identification.procedures.finding import Finding

Array = NDArray[np.float64]
RATE_HZ, STEP_S, WINDOW, CUT_OFF_HZ = 200.0, 30.0, 500, 5.0  # cut-off: Shoal's choice, the thesis has none
PULSES_US = np.array([1525.0, 1540.0, *np.arange(1560.0, 1701.0, 20.0)])
DEAD_ZONE_US = 25.0


@dataclass(frozen=True)
class ThrustFit:
    """τ = K_L s + K_Q |s| s newtons at s µs from neutral, nothing within the dead zone."""

    linear: float
    quadratic: float
    r2: float
    dead_zone_us: float = DEAD_ZONE_US

    def thrust_N(self, pulses_us: Array, neutral_us: float = 1500.0) -> Array:
        """Of pulses."""
        s = np.asarray(pulses_us, dtype=float) - neutral_us
        return np.where(np.abs(s) < self.dead_zone_us, 0.0, self.linear * s + self.quadratic * np.abs(s) * s)


def plateau_means(force_N: Array, pulses_us: Array, rate_hz: float = RATE_HZ) -> tuple[Array, Array]:
    """Low-pass of sixth order, moving mean, then the mean of each plateau without its first fifth (settling)."""
    smooth = sosfiltfilt(butter(6, CUT_OFF_HZ, fs=rate_hz, output="sos"), force_N)
    smooth = np.convolve(np.pad(smooth, WINDOW // 2, mode="edge"), np.full(WINDOW, 1 / WINDOW), "valid")[: len(force_N)]
    edges = np.flatnonzero(np.diff(pulses_us)) + 1
    levels, means = [], []
    for plateau in np.split(np.arange(len(pulses_us)), edges):
        inner = plateau[len(plateau) // 5 : len(plateau) - WINDOW // 2]
        if len(inner) < WINDOW // 2:
            raise ShoalError(f"bollard pull: a plateau of {len(plateau)} samples; expected at least {2 * WINDOW}")
        levels.append(float(pulses_us[plateau[0]]))
        means.append(float(smooth[inner].mean()))
    return np.array(levels), np.array(means)


def fit_thrust(pulses_us: Array, force_N: Array, neutral_us: float = 1500.0) -> ThrustFit:
    """Least squares without a bias term; pulses within the dead zone do not count."""
    s = pulses_us - neutral_us
    used = np.abs(s) >= DEAD_ZONE_US
    basis = np.stack([s, np.abs(s) * s], axis=1)[used]
    (linear, quadratic), *_ = np.linalg.lstsq(basis, force_N[used], rcond=None)
    off = force_N[used] - basis @ [linear, quadratic]
    r2 = 1 - float(off @ off) / float(np.sum((force_N[used] - force_N[used].mean()) ** 2))
    return ThrustFit(float(linear), float(quadratic), r2)


def staircase(true: ThrustFit, rng: np.random.Generator, noise_N: float = 0.6) -> tuple[Array, Array]:
    """Three load cells' sum (4.14) and the pulses, at 200 Hz; first-order settling of 0.15 s."""
    per = int(STEP_S * RATE_HZ)
    pulses = np.repeat(PULSES_US, per)
    level = np.repeat(np.diff(np.concatenate([[0.0], true.thrust_N(PULSES_US)])), per)
    since = np.tile(np.arange(per) / RATE_HZ, len(PULSES_US))
    force = np.repeat(true.thrust_N(PULSES_US), per) - level * np.exp(-since / 0.15)
    cells = force[None] / 3 + rng.normal(0, noise_N / np.sqrt(3), (3, len(force)))
    return cells.sum(axis=0), pulses


def demonstrate(seed: int) -> list[Finding]:
    """Table 4.4 from its own numbers and noise."""
    true = ThrustFit(3.123e-2, 2.52e-4, 1.0)
    force, pulses = staircase(true, np.random.default_rng([seed, 80]))
    found = fit_thrust(*plateau_means(force, pulses))
    note = "at bollard: under way a thruster gives less (see thruster_inflow)"
    return [
        Finding("K_L", "N/us", true.linear, found.linear, note),
        Finding("K_Q", "N/us²", true.quadratic, found.quadratic, note),
    ]
