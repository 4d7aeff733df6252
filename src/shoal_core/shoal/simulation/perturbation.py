"""Vehicles that are not what the description says: the plant's on purpose, the controller's by mistake."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.simulation.conditions import ControllerModel
from shoal.simulation.conditions import Plant as PlantSettings
from shoal.simulation.plant import PlantVehicle
from shoal.vehicles.description import Heave, Vehicle

Array = NDArray[np.float64]


def perturbed(vehicle: Vehicle, settings: PlantSettings, rng: np.random.Generator) -> PlantVehicle:
    """The vehicle of one run: every coefficient off by its own factor within 1 ± `perturbation`.

    Weight and buoyancy both follow the mass, W − B stays as described: an operator trims the vehicle with ballast and
    foam before each dive, and 20 % of 113 N left over would be all that the thrusters of Fosso 2023 can lift (24.8 N).
    The settings' scales are deliberate changes and come first; there the weight goes with the mass alone.
    """
    scaled = vehicle.scaled(
        settings.mass_scale, settings.added_mass_scale, settings.damping_scale, settings.inertia_scale
    )
    scaled = replace(scaled, cg_m=scaled.cg_m + np.asarray(settings.cg_offset_m))
    count = vehicle.input_count
    # Always the same draws in the same order, so that conditions with one seed differ by their settings alone.
    factors = 1.0 + settings.perturbation * rng.uniform(-1.0, 1.0, 22)
    share = rng.uniform()
    gain = 1.0 + settings.thrusters.gain_spread * rng.uniform(-1.0, 1.0, count)
    gain *= settings.thrusters.gain_scale
    lag, dead_band = settings.thrusters.lag, settings.thrusters.dead_band
    thrusters = tuple(
        replace(
            t,
            time_constant_s=lag.apply(t.time_constant_s, share),
            dead_band_N=dead_band.apply(t.dead_band_N, 0.5),
        )
        for t in scaled.thrusters
    )
    return PlantVehicle(replace(_with_factors(scaled, factors), thrusters=thrusters), gain)


def controller_vehicle(vehicle: Vehicle, settings: ControllerModel, true: Vehicle | None = None) -> Vehicle:
    """What the controller believes. A wrong mass is a wrong weight too (W = m g), the buoyancy is the hull's.

    `true`: the vehicle as it is, for those that know its lag; without it they know the description's.
    """
    mass_scale = settings.mass_scale
    if settings.mass_kg is not None:
        mass_scale *= settings.mass_kg / vehicle.mass_kg
    wrong = vehicle.scaled(mass_scale, settings.added_mass_scale, settings.damping_scale, settings.inertia_scale)
    lag = settings.thruster_lag
    known = vehicle if true is None else true
    lags_s = [t.time_constant_s if lag is None else lag.apply(t.time_constant_s, 0.5)
              for t in (known if lag is None else wrong).thrusters]  # fmt: skip
    lagging = tuple(replace(t, time_constant_s=lag_s) for t, lag_s in zip(wrong.thrusters, lags_s, strict=True))
    return replace(wrong, cg_m=wrong.cg_m + np.asarray(settings.cg_offset_m), thrusters=lagging)


def _with_factors(v: Vehicle, factors: Array) -> Vehicle:
    """22 factors: mass, inertia (3), added mass (6), linear (6) and quadratic damping (6)."""
    mass, inertia, added, linear, quadratic = np.split(factors, [1, 4, 10, 16])
    extra_weight_N = v.weight_N * (mass[0] - 1.0)

    def heave(h: Heave | None) -> Heave | None:
        return h and Heave(h.added_mass_kg * added[2], h.linear_Nspm * linear[2], h.quadratic_Ns2pm2 * quadratic[2])

    return replace(
        v,
        mass_kg=v.mass_kg * float(mass[0]),
        weight_N=v.weight_N + extra_weight_N,
        buoyancy_N=v.buoyancy_N + extra_weight_N,
        inertia_kgm2=_congruent(v.inertia_kgm2, inertia),
        added_mass=_congruent(v.added_mass, added),
        linear_damping=_congruent(v.linear_damping, linear),
        quadratic_damping=_congruent(v.quadratic_damping, quadratic),
        heave_dive=heave(v.heave_dive),
        heave_rise=heave(v.heave_rise),
    )


def _congruent(matrix: Array, factors: Array) -> Array:
    """S M S with S = diag(√factors): scales the diagonal by the factors, keeps zeros, symmetry and definiteness."""
    root = np.sqrt(factors)
    return np.asarray(matrix * np.outer(root, root))
