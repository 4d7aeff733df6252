"""Centre of buoyancy and drag of two joined spheres from the decay of their roll (Nielsen 2018, 4.3; (4.10))."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

from shoal.identification.procedures.finding import Finding

Array = NDArray[np.float64]
MASS_KG, ADDED_KG, DISTANCE_M, ARM_A_M, G = 14.3, 7.06, 0.596, -0.0114, 9.81


def roll_decay(theta: Array, times_s: Array, start_rad: float = 0.0) -> Array:
    """Roll from rest, θ = [r_y, r_z of B in its own frame, quadratic and linear drag of each sphere].

    B is turned by 90° about x: its [r_y, r_z] is [−r_z, r_y] in A's axes, and the pair's centre is the mean.
    """
    y, z = 0.5 * -theta[1], 0.5 * (ARM_A_M + theta[0])
    half, weight = DISTANCE_M / 2, 2 * MASS_KG * G
    inertia = 2 * (MASS_KG + ADDED_KG) * half**2

    def rates(_: float, s: Array) -> list[float]:
        righting = -weight * (y * np.cos(s[0]) - z * np.sin(s[0]))
        speed = half * s[1]
        braking = 2 * half * (theta[2] * abs(speed) * speed + theta[3] * speed)
        return [float(s[1]), float((righting - braking) / inertia)]

    found = solve_ivp(rates, (float(times_s[0]), float(times_s[-1])), [start_rad, 0.0], t_eval=times_s, rtol=1e-6)
    return np.asarray(found.y[0])


def fit_decay(times_s: Array, roll_rad: Array, guess: Array) -> Array:
    """The four numbers with the least squares to the measured roll (4.10)."""
    scale = np.array([0.001, 0.005, 5.0, 0.3])
    floor = np.array([-np.inf, -np.inf, 0.0, 0.0])
    answer = least_squares(
        lambda x: roll_decay(x * scale, times_s, float(roll_rad[0])) - roll_rad,
        guess / scale,
        bounds=(floor / scale, np.inf),
    )
    return np.asarray(answer.x * scale)


def demonstrate(seed: int) -> list[Finding]:
    """The thesis's result (4.11) and equilibrium (4.13) from 60 s of roll, noise of 5 mrad."""
    true = np.array([-0.0016, -0.00886, 9.2889, 0.2265])
    t = np.arange(0, 60, 0.1)
    noise = np.random.default_rng([seed, 86]).normal(0, 0.005, len(t))
    found = fit_decay(t, roll_decay(true, t) + noise, np.array([0.0, -0.0114, 3.8, 0.67]))
    names = (("r_y of B", "m"), ("r_z of B", "m"), ("quadratic drag", "kg/m"), ("linear drag", "kg/s"))
    findings = [Finding(n, u, float(a), float(b)) for (n, u), a, b in zip(names, true, found, strict=True)]
    rest = np.degrees(np.arctan2(0.5 * -found[1], 0.5 * (ARM_A_M + found[0])) - np.pi)
    caution = "the distance between the spheres' centres is not in the thesis; drag scales with it"
    return [*findings, Finding("equilibrium", "deg", -34.0, float(rest), caution)]
