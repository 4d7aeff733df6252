"""Yaw drag from steady turns, then inertia from the rise after the inflection point (Ng 2024, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, minimize_scalar

from shoal.identification.procedures.finding import Finding

Array = NDArray[np.float64]
STEADY_S, STEP_S = (2.5, 4.5), 0.02
LAG_CAUTION = (
    "too large where thrust builds up slowly: of 1.12 kg m² it makes 1.2 at a thruster lag of 0.05 s, 1.5 at 0.12 s "
    "with 0.06 s of delay"
)


def steady_rate(times_s: Array, rate_radps: Array) -> float:
    """Mean between 2.5 and 4.5 s."""
    inside = (times_s >= STEADY_S[0]) & (times_s <= STEADY_S[1])
    return float(rate_radps[inside].mean())


def fit_yaw_drag(rates_radps: Array, moments_Nm: Array) -> tuple[float, float]:
    """N_r and N_r|r| of N = N_r r + N_r|r| |r| r, neither negative."""
    basis = np.stack([rates_radps, np.abs(rates_radps) * rates_radps], axis=1)
    found = lsq_linear(basis, moments_Nm, bounds=(0, np.inf)).x
    return float(found[0]), float(found[1])


def inertia_from_rise(times_s: Array, rate_radps: Array, moment_Nm: float, quadratic: float) -> float:
    """I_zz + N_ṙ whose tanh from the inflection on (4.3) is nearest to the rise, up to 95 % of the steady rate."""
    window = 7
    smooth = np.convolve(np.pad(rate_radps, window // 2, mode="edge"), np.full(window, 1 / window), "valid")
    steady = np.sqrt(moment_Nm / quadratic)
    rising = np.flatnonzero(smooth < 0.95 * steady)
    first = int(np.argmax(np.gradient(smooth[: rising[-1] + 1 if len(rising) else None])))
    reached = np.flatnonzero(smooth[first:] >= 0.95 * steady)
    last = first + (int(reached[0]) if len(reached) else len(smooth) - first - 1)
    t, r = times_s[first : last + 1] - times_s[first], rate_radps[first : last + 1]
    start = np.arctanh(np.clip(smooth[first] / steady, -0.99, 0.99))

    def misfit(inertia: float) -> float:
        return float(np.mean((steady * np.tanh(np.sqrt(moment_Nm * quadratic) / inertia * t + start) - r) ** 2))

    return float(minimize_scalar(misfit, bounds=(0.05, 5.0), method="bounded").x)


def turn(
    moment_Nm: float,
    inertia: float,
    quadratic: float,
    rng: np.random.Generator,
    lag_s: float = 0.0,
    delay_s: float = 0.0,
) -> tuple[Array, Array]:
    """5 s from rest under a constant moment, as a gyroscope sees it."""
    fine = 20
    h, rate, moment, rates = STEP_S / fine, 0.0, 0.0, []
    for k in range(int(5.0 / STEP_S)):
        rates.append(rate)
        for j in range(fine):
            wanted = moment_Nm if (k + j / fine) * STEP_S >= delay_s else 0.0
            moment = wanted if lag_s == 0 else moment + (wanted - moment) * h / lag_s
            rate += h * (moment - quadratic * abs(rate) * rate) / inertia
    measured = np.array(rates) + rng.normal(0, np.radians(0.5), len(rates))
    return np.asarray(np.arange(len(rates)) * STEP_S, dtype=np.float64), measured


def demonstrate(seed: int) -> list[Finding]:
    """Table 4.1: 2.42 N m s² and 1.12 kg m², six moments with five trials; the last two with a slow thruster."""
    rng = np.random.default_rng([seed, 84])
    return [
        *_findings(rng, 0.0, 0.0, "no lag"),
        *_findings(rng, 0.12, 0.06, "lag 0.12 s, delay 0.06 s"),
    ]


def _findings(rng: np.random.Generator, lag_s: float, delay_s: float, label: str) -> Sequence[Finding]:
    moments, rates, runs = [], [], []
    for moment in (2.0, 4.0, 6.0, 9.0, 12.0, 15.0):
        for _ in range(5):
            t, r = turn(moment, 1.12, 2.42, rng, lag_s, delay_s)
            moments.append(moment)
            rates.append(steady_rate(t, r))
            runs.append((t, r, moment))
    linear, quadratic = fit_yaw_drag(np.array(rates), np.array(moments))
    inertia = float(np.mean([inertia_from_rise(t, r, m, quadratic) for t, r, m in runs]))
    return [
        Finding(f"yaw linear drag ({label})", "N m s", 0.0, linear),
        Finding(f"yaw quadratic drag ({label})", "N m s²", 2.42, quadratic),
        Finding(f"yaw inertia ({label})", "kg m²", 1.12, inertia, LAG_CAUTION),
    ]
