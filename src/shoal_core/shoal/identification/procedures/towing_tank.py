"""Drag from towing at constant speed (Nielsen 2018, 5.3 to 5.5): load cells, bracket, fusion, bounded fit, ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from shoal.errors import ShoalError
from shoal.identification.procedures.finding import Finding

Array = NDArray[np.float64]
BRACKET = (25.06, 4.0)  # quadratic and linear drag of the bracket (5.16)
ADDED_MASS = {"surge": 2.6, "sway": 18.5, "heave": 13.3, "roll": 0.054, "pitch": 0.0173, "yaw": 0.28}  # Table 5.2
FROM = {"sway": "heave", "roll": "pitch", "yaw": "pitch"}  # which axis stands for one that was not towed


def drag(speed: Array, quadratic: float, linear: float) -> Array:
    """c₁|u|u + c₂u (5.3)."""
    return np.asarray(quadratic * np.abs(speed) * speed + linear * speed)


def combined_force(cell1_N: Array, cell2_N: Array, cord_N: Array, cord_angle_rad: float) -> Array:
    """f = f₁ + f₂ − f₃ cos φ (5.14)."""
    return np.asarray(cell1_N + cell2_N - cord_N * np.cos(cord_angle_rad))


def without_bracket(speed: Array, force_N: Array) -> Array:
    """The hull's share."""
    return np.asarray(force_N - drag(speed, *BRACKET))


def steady_part(speed: Array, tolerance: float = 0.02) -> slice:
    """The longest stretch within `tolerance` of its final speed."""
    target = float(np.median(speed[np.abs(speed) > 0.7 * np.abs(speed).max()]))
    good = np.abs(speed - target) <= tolerance * max(abs(target), 1e-9)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
    spans = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    if not spans:
        raise ShoalError(f"towing tank: no steady stretch near {target:.3g}; expected a run at constant speed")
    first, last = max(spans, key=lambda s: s[1] - s[0])
    return slice(first, last)


def fuse(means: Array, variances: Array) -> tuple[float, float]:
    """Runs at one speed as one point, weighted by inverse variance (5.17), (5.18)."""
    variance = 1 / float(np.sum(1 / variances))
    return variance * float(np.sum(means / variances)), variance


def fit_drag(speed: Array, force_N: Array, variance: Array) -> tuple[float, float]:
    """Quadratic and linear coefficient, neither negative."""
    weight = 1 / np.sqrt(variance)
    basis = np.stack([np.abs(speed) * speed, speed], axis=1) * weight[:, None]
    found = lsq_linear(basis, force_N * weight, bounds=(0, np.inf))
    return float(found.x[0]), float(found.x[1])


def extrapolated(
    measured: Mapping[str, tuple[float, float]], added_mass: Mapping[str, float]
) -> dict[str, tuple[float, float]]:
    """Sway from heave, roll and yaw from pitch, in the proportion of the added masses."""
    found = dict(measured)
    for axis, source in FROM.items():
        if axis not in found:
            ratio = added_mass[axis] / added_mass[source]
            found[axis] = (ratio * measured[source][0], ratio * measured[source][1])
    return found


def towed(
    speeds: Sequence[float], coefficients: tuple[float, float], rng: np.random.Generator, runs: int = 3
) -> list[tuple[float, Array, Array]]:
    """(nominal speed, speed, force) of runs of 12 s at 200 Hz with the bracket on: ramp, steady, ramp."""
    found = []
    for nominal in speeds:
        for _ in range(runs):
            ramp = np.linspace(0, 1, 400)
            speed = nominal * np.concatenate([ramp, np.ones(1600), ramp[::-1]])
            clean = drag(speed, *coefficients) + drag(speed, *BRACKET)
            sigma = rng.uniform(0.3, 1.2)
            found.append((nominal, speed, clean + rng.normal(0, sigma, len(speed))))
    return found


def pipeline(runs: Sequence[tuple[float, Array, Array]]) -> tuple[float, float]:
    """From runs to coefficients."""
    speeds, means, variances = [], [], []
    for nominal in dict.fromkeys(r[0] for r in runs):
        points = []
        for _, speed, force in (r for r in runs if r[0] == nominal):
            part = steady_part(speed)
            hull = without_bracket(speed[part], force[part])
            points.append((float(hull.mean()), float(hull.var()) / len(hull)))
        mean, variance = fuse(np.array([p[0] for p in points]), np.array([p[1] for p in points]))
        speeds.append(nominal)
        means.append(mean)
        variances.append(variance)
    return fit_drag(np.array(speeds), np.array(means), np.array(variances))


def demonstrate(seed: int) -> list[Finding]:
    """Surge and heave of Table 5.2, then its extrapolated rows."""
    rng = np.random.default_rng([seed, 81])
    steps = [*np.arange(-1.0, -0.04, 0.1), *np.arange(0.1, 1.01, 0.1)]
    surge = pipeline(towed(steps, (34.96, 0.0), rng))
    heave = pipeline(towed([s for s in steps if s < 0], (74.23, 0.19), rng))
    rest = extrapolated({"heave": (74.23, 0.19), "pitch": (0.027, 0.287)}, ADDED_MASS)
    note = "a ratio of added masses is no measurement of drag"
    findings = [
        Finding("surge quadratic", "kg/m", 34.96, surge[0]),
        Finding("heave quadratic", "kg/m", 74.23, heave[0]),
    ]
    printed = {"sway": (103.25, 0.264), "roll": (0.0843, 0.896), "yaw": (0.437, 4.645)}
    for axis, (quadratic, linear) in printed.items():
        findings.append(Finding(f"{axis} quadratic", "kg/m, kg m²", quadratic, rest[axis][0], note))
        findings.append(Finding(f"{axis} linear", "kg/s, kg m²/s", linear, rest[axis][1], note))
    return findings
