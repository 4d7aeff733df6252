"""Drag that a step of the integration can resolve.

RK4 with step h is stable while the decay λ of a motion keeps λh below 2.78. Quadratic drag decays faster the faster the
vehicle moves, λ = (d₁ + 2 d₂|ν|)/m: with four times the BlueROV2's drag and steps of 0.1 s, rates beyond 0.6 rad/s grow
instead, and a prediction of a second overflows. So what is believed is limited; the estimated wrench takes up the rest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.vehicles.description import Heave, Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
LONGEST_STEP_S = 0.1  # of predictions and of the controllers' horizon
MOST_DECAY = 2.5  # λh, a little within RK4's limit
FASTEST = np.array([2.0, 2.0, 2.0, 2.2, 2.2, 2.2])  # m/s, rad/s: up to where the model is to be stable


def resolvable(vehicle: Vehicle, step_s: float = LONGEST_STEP_S) -> Vehicle:
    """The same vehicle, its drag limited on each axis to what a step of the integration resolves."""
    mass = 1.0 / np.diag(np.linalg.inv(mass_matrix(vehicle)))
    most = MOST_DECAY * mass / step_s  # of d₁ + 2 d₂|ν|
    linear, quadratic = np.diag(vehicle.linear_damping), np.diag(vehicle.quadratic_damping)
    linear_share = _share(most, linear)
    quadratic_share = _share((most - linear * linear_share) / (2 * FASTEST), quadratic)
    if min(linear_share.min(), quadratic_share.min()) >= 1.0:
        return vehicle

    def heave(h: Heave | None) -> Heave | None:
        if h is None:
            return None
        heavier = most[2] + MOST_DECAY / step_s * (h.added_mass_kg - vehicle.added_mass[2, 2])
        linear_Nspm = min(h.linear_Nspm, heavier)
        return replace(
            h,
            linear_Nspm=linear_Nspm,
            quadratic_Ns2pm2=min(h.quadratic_Ns2pm2, (heavier - linear_Nspm) / (2 * FASTEST[2])),
        )

    return replace(
        vehicle,
        linear_damping=_congruent(vehicle.linear_damping, linear_share),
        quadratic_damping=_congruent(vehicle.quadratic_damping, quadratic_share),
        heave_dive=heave(vehicle.heave_dive),
        heave_rise=heave(vehicle.heave_rise),
    )


def _share(allowed: Array, given: Array) -> Array:
    """(6,) of each coefficient that is allowed, at most one."""
    return np.asarray(np.minimum(1.0, allowed / np.maximum(given, 1e-12)))


def _congruent(matrix: Array, share: Array) -> Array:
    """S M S with S = diag(√share): the diagonal times the shares; zeros and symmetry stay."""
    root = np.sqrt(share)
    return np.asarray(matrix * np.outer(root, root))
