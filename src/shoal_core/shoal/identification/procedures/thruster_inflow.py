"""Thrust under way: K_T falls with the advance number J (Nielsen 2018, (5.6) to (5.9))."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.identification.procedures.finding import Finding

Array = NDArray[np.float64]
RHO = 1000.0


def thrust_N(shaft_radps: Array, inflow_mps: Array, alpha: tuple[float, float], diameter_m: float) -> Array:
    """T_|ω|ω |ω|ω + T_|ω|u |ω|u with T_|ω|ω = ρD⁴α₀/4π² and T_|ω|u = ρD³α₁/2π (5.8)."""
    own = RHO * diameter_m**4 * alpha[0] / (4 * np.pi**2)
    loss = RHO * diameter_m**3 * alpha[1] / (2 * np.pi)
    return np.asarray(own * np.abs(shaft_radps) * shaft_radps + loss * np.abs(shaft_radps) * inflow_mps)


def fit_inflow(shaft_radps: Array, inflow_mps: Array, force_N: Array, diameter_m: float) -> tuple[float, float]:
    """α₀ and α₁ of K_T = α₀ + α₁ J, by least squares on the thrust itself: K_T's own noise grows as 1/ω²."""
    ones = [thrust_N(shaft_radps, inflow_mps, pair, diameter_m) for pair in ((1.0, 0.0), (0.0, 1.0))]
    (first, second), *_ = np.linalg.lstsq(np.stack(ones, axis=1), force_N, rcond=None)
    return float(first), float(second)


def demonstrate(seed: int) -> list[Finding]:
    """Seven towing speeds and a range of shaft speeds; the thesis's own α are lost, these are a T200's order."""
    rng, true, diameter = np.random.default_rng([seed, 82]), (0.45, -0.5), 0.076
    speeds, shafts = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9]), np.linspace(80, 300, 9)
    u, w = (a.ravel() for a in np.meshgrid(speeds, shafts))
    found = fit_inflow(w, u, thrust_N(w, u, true, diameter) + rng.normal(0, 0.2, len(u)), diameter)
    return [Finding("alpha0", "", true[0], found[0]), Finding("alpha1", "", true[1], found[1])]
