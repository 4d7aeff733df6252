"""Coefficients without a test of their own: CFD rules (Nielsen 2018, (4.2) to (4.6)) and scaling (Ng 2024, 4.3)."""

from __future__ import annotations

import numpy as np

from shoal.identification.procedures.finding import Finding

LINEAR_SHARE = 0.16  # of the quadratic coefficient, translational (4.3)
ROLL_SHARE = 0.857  # of yaw
GUESS = "a rule, not a measurement: expect factors of two"


def quadratic_drag(drag_coefficient: float, area_m2: float, density_kgpm3: float = 1000.0) -> float:
    """½ C_d ρ A (4.2)."""
    return 0.5 * drag_coefficient * density_kgpm3 * area_m2


def linear_drag(quadratic: float) -> float:
    """Translational (4.3)."""
    return LINEAR_SHARE * quadratic


def rotational_linear_drag(damping_ratio: float, inertia: float, added_inertia: float, stiffness_Nm: float) -> float:
    """2 ξ I √(r/(I + I_a)) (4.4), with inertia where the thesis prints mass."""
    return float(2 * damping_ratio * inertia * np.sqrt(stiffness_Nm / (inertia + added_inertia)))


def yaw_linear_drag(pitch_linear: float, pitch_quadratic: float, yaw_quadratic: float) -> float:
    """(4.6), by pitch: its printed roll does not give the thesis's own table."""
    return pitch_linear / pitch_quadratic * yaw_quadratic


def scaled_from_heave(dive: float, rise: float, literature_axis: float, literature_heave: float) -> float:
    """Surge or sway: the mean of both ways of heave, in the literature's proportion."""
    return 0.5 * (dive + rise) * literature_axis / literature_heave


def demonstrate(seed: int) -> list[Finding]:
    """Numbers that the theses print. The seed is not needed: nothing is drawn."""
    del seed
    return [
        Finding("X_u of the sphere", "kg/s", 0.61, linear_drag(3.8), GUESS),
        Finding("N_r of the sphere", "kg m²/s", 0.0764, yaw_linear_drag(0.0353, 0.05, 0.108), GUESS),
        Finding("surge added mass", "kg", 10.77, scaled_from_heave(34.60, 22.45, 5.5, 14.57), GUESS),
        Finding("sway added mass", "kg", 24.86, scaled_from_heave(34.60, 22.45, 12.7, 14.57), GUESS),
        Finding("surge linear drag", "N s/m", 38.95, scaled_from_heave(49.50, 50.62, 4.03, 5.18), GUESS),
        Finding("sway linear drag", "N s/m", 60.11, scaled_from_heave(49.50, 50.62, 6.22, 5.18), GUESS),
        Finding("roll added inertia", "kg m²", 0.103, ROLL_SHARE * 0.120, GUESS),
    ]
