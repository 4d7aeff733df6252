"""Heave mass and drag of each direction by linear least squares on differentiated motion (Ng 2024, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.identification.procedures.finding import Finding

Array = NDArray[np.float64]
STEP_S, UPPER_M, LOWER_M = 0.05, 0.3, 0.7  # depths between which a dive counts
CAUTION = (
    "errors in variables: noise on w and its derivative pulls it towards zero (of 46 kg, 33 ± 5 from a speed sensor)"
)


@dataclass(frozen=True)
class HeaveRun:
    """Constant force Z (less restoring) from rest; positive down."""

    force_N: float
    depth_m: Array
    speed_mps: Array
    acceleration_mps2: Array


def cropped(run: HeaveRun) -> HeaveRun:
    """A dive between the two depths; a rise from the lower one until its acceleration turns."""
    if run.force_N > 0:
        used = (run.depth_m >= UPPER_M) & (run.depth_m <= LOWER_M)
    else:
        used = run.depth_m <= LOWER_M
        turned = np.flatnonzero(used & (run.acceleration_mps2 > 0))
        if len(turned):
            used &= np.arange(len(used)) < turned[0]
    return HeaveRun(run.force_N, run.depth_m[used], run.speed_mps[used], run.acceleration_mps2[used])


def fit_heave(runs: list[HeaveRun]) -> tuple[float, float, float]:
    """m + Z_ẇ, Z_w, Z_w|w| of y = Xβ (4.8 to 4.12)."""
    rows = [np.stack([r.acceleration_mps2, r.speed_mps, r.speed_mps * np.abs(r.speed_mps)], axis=1) for r in runs]
    forces = np.concatenate([np.full(len(r.speed_mps), r.force_N) for r in runs])
    beta, *_ = np.linalg.lstsq(np.concatenate(rows), forces, rcond=None)
    return float(beta[0]), float(beta[1]), float(beta[2])


def relative_error(run: HeaveRun, beta: tuple[float, float, float]) -> float:
    """Mean of |Xβ − y| / |y| (4.13); the thesis drops tests above 15 %."""
    made = run.acceleration_mps2 * beta[0] + run.speed_mps * beta[1] + run.speed_mps * np.abs(run.speed_mps) * beta[2]
    return float(np.mean(np.abs(made - run.force_N)) / abs(run.force_N))


def heave_run(force_N: float, beta: tuple[float, float, float], rng: np.random.Generator, noise_mps: float) -> HeaveRun:
    """1.5 m of travel, speed measured with noise and differentiated."""
    depth, speed, depths, speeds = (0.05 if force_N > 0 else 1.5), 0.0, [], []
    for _ in range(400):
        depths.append(depth)
        speeds.append(speed)
        for _ in range(10):
            speed += STEP_S / 10 * (force_N - beta[1] * speed - beta[2] * abs(speed) * speed) / beta[0]
            depth += STEP_S / 10 * speed
        if not 0 <= depth <= 1.55:
            break
    measured = np.array(speeds) + rng.normal(0, noise_mps, len(speeds)) if noise_mps else np.array(speeds)
    return HeaveRun(force_N, np.array(depths), measured, np.gradient(measured, STEP_S))


def demonstrate(seed: int) -> list[Finding]:
    """Table 4.1's dive and rise at 38 levels with three trials, 1 cm/s of noise."""
    rng, findings = np.random.default_rng([seed, 85]), []
    for way, sign, beta in (("dive", 1, (46.10, 49.50, 113.86)), ("rise", -1, (33.95, 50.62, 76.69))):
        runs = [cropped(heave_run(sign * f, beta, rng, 0.01)) for f in np.linspace(4, 50, 38) for _ in range(3)]
        found = fit_heave([r for r in runs if len(r.speed_mps) > 3])
        findings.append(Finding(f"{way} mass with added mass", "kg", beta[0], found[0], CAUTION))
        findings.append(Finding(f"{way} drag at 0.3 m/s", "N", _drag(beta), _drag(found)))
    return findings


def _drag(beta: tuple[float, float, float]) -> float:
    return 0.3 * beta[1] + 0.09 * beta[2]
