"""Vehicles that differ from their description, within bounds and reproducibly."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.fleet.generate import resolve_fleet
from shoal.simulation.conditions import Plant as PlantSettings
from shoal.simulation.conditions import load_condition
from shoal.simulation.perturbation import controller_vehicle, perturbed
from shoal.vehicles.parameters import mass_matrix, parameter_vector, structure_of
from vehicles_for_tests import SETS, shipped, vehicle_named

NAMES = [*SETS, "full"]
IDEAL = PlantSettings.model_validate(
    {"perturbation": 0, "thrusters": {"lag": {"scale": 1}, "dead_band": {"scale": 1}, "gain_spread": 0}}
)


@pytest.mark.parametrize("name", NAMES)
def test_every_coefficient_moves_within_its_bounds(name: str) -> None:
    base = vehicle_named(name)
    draws = [perturbed(base, PlantSettings(), np.random.default_rng(seed)) for seed in range(200)]
    for pick in (
        lambda v: [v.mass_kg],
        lambda v: np.diag(v.inertia_kgm2),
        lambda v: np.diag(v.added_mass),
        lambda v: np.diag(v.linear_damping),
        lambda v: np.diag(v.quadratic_damping),
    ):
        wanted = np.array(pick(base))
        ratios = np.array([pick(d.vehicle) for d in draws])[:, wanted > 0] / wanted[wanted > 0]
        assert ratios.min() >= 0.8 - 1e-12 and ratios.max() <= 1.2 + 1e-12
        assert np.all(ratios.min(axis=0) < 0.83) and np.all(ratios.max(axis=0) > 1.17)
        if ratios.shape[1] > 1:  # each by itself
            assert np.abs(np.corrcoef(ratios.T) - np.eye(ratios.shape[1])).max() < 0.3
    gains = np.array([d.thrust_gain for d in draws])
    lags = np.array([[t.time_constant_s for t in d.vehicle.thrusters] for d in draws])
    assert 0.95 <= gains.min() < 0.955 and 1.045 < gains.max() <= 1.05
    assert 0.1 <= lags.min() < 0.105 and 0.195 < lags.max() <= 0.2
    assert {t.dead_band_N for d in draws for t in d.vehicle.thrusters} == {2 * t.dead_band_N for t in base.thrusters}


@pytest.mark.parametrize("name", NAMES)
def test_trim_and_structure_stay(name: str) -> None:
    """W − B as described, and the same generated code for all runs."""
    base = vehicle_named(name)
    for seed in range(20):
        v = perturbed(base, PlantSettings(), np.random.default_rng(seed)).vehicle
        assert v.weight_N - v.buoyancy_N == pytest.approx(base.weight_N - base.buoyancy_N)
        assert v.weight_N / base.weight_N == pytest.approx(v.mass_kg / base.mass_kg)
        assert structure_of(v) == structure_of(base)
        assert np.linalg.eigvalsh(mass_matrix(v)).min() > 0
        np.testing.assert_allclose(v.added_mass, v.added_mass.T)


@pytest.mark.parametrize("name", NAMES)
def test_no_perturbation_is_the_description_exactly(name: str) -> None:
    base = vehicle_named(name)
    same = perturbed(base, IDEAL, np.random.default_rng(0))
    structure = structure_of(base)
    np.testing.assert_array_equal(parameter_vector(same.vehicle, structure), parameter_vector(base, structure))
    np.testing.assert_array_equal(same.thrust_gain, np.ones(8))
    assert same.vehicle.thrusters == base.thrusters


def test_both_heave_directions_move_together() -> None:
    base = shipped("ng2024")
    v = perturbed(base, PlantSettings(), np.random.default_rng(3)).vehicle
    assert v.heave_dive and v.heave_rise and base.heave_dive and base.heave_rise
    for key in ("added_mass_kg", "linear_Nspm", "quadratic_Ns2pm2"):
        ratio = getattr(v.heave_dive, key) / getattr(base.heave_dive, key)
        assert getattr(v.heave_rise, key) / getattr(base.heave_rise, key) == pytest.approx(ratio)
        assert ratio != 1.0


def test_same_seed_same_vehicle_and_settings_do_not_shift_the_draws() -> None:
    base = shipped("wu2018")
    structure = structure_of(base)
    first, again = (perturbed(base, PlantSettings(), np.random.default_rng([7, 1])) for _ in range(2))
    np.testing.assert_array_equal(
        parameter_vector(first.vehicle, structure), parameter_vector(again.vehicle, structure)
    )
    half = perturbed(base, PlantSettings(perturbation=0.1), np.random.default_rng([7, 1]))
    assert half.vehicle.mass_kg / 11.5 - 1 == pytest.approx((first.vehicle.mass_kg / 11.5 - 1) / 2)
    np.testing.assert_array_equal(half.thrust_gain, first.thrust_gain)


def test_deliberate_scales_come_on_top() -> None:
    base = shipped("wu2018")
    settings = IDEAL.model_copy(
        update={
            "mass_scale": 1.1,
            "added_mass_scale": 2.0,
            "damping_scale": 0.5,
            "inertia_scale": 3.0,
            "cg_offset_m": (0, 0, 0.01),
        }
    )
    v = perturbed(base, settings, np.random.default_rng(0)).vehicle
    assert v.mass_kg == pytest.approx(12.65) and v.weight_N == pytest.approx(112.8 * 1.1)
    assert v.buoyancy_N == base.buoyancy_N
    np.testing.assert_allclose(v.added_mass, 2 * base.added_mass)
    np.testing.assert_allclose(v.quadratic_damping, base.quadratic_damping / 2)
    np.testing.assert_allclose(v.inertia_kgm2, 3 * base.inertia_kgm2)
    np.testing.assert_allclose(v.cg_m, [0, 0, 0.03])


def test_the_controllers_wrong_model() -> None:
    base = shipped("wu2018")
    doubled = controller_vehicle(base, load_condition("mass_x2").controller_model)
    assert (doubled.mass_kg, doubled.weight_N, doubled.buoyancy_N) == (23.0, 225.6, 114.8)
    light = controller_vehicle(base, load_condition("mass_1kg").controller_model)
    assert light.mass_kg == pytest.approx(1.0) and light.weight_N == pytest.approx(112.8 / 11.5)
    lowered = controller_vehicle(base, load_condition("cg_lowered").controller_model)
    np.testing.assert_allclose(lowered.cg_m, [0, 0, 0.04])
    softer = controller_vehicle(shipped("ng2024"), load_condition("damping_half").controller_model)
    assert softer.heave_dive and softer.heave_dive.linear_Nspm == pytest.approx(49.50 / 2)


def test_another_parameter_set_leaves_the_fleet_s_thrust_alone() -> None:
    """A wrong set is wrong drag and mass: with the 6.2 N of wu2018 nobody holds this fleet in a current."""
    member = resolve_fleet("2").vehicles[0]
    own, other = member.vehicle(), member.vehicle("wu2018")
    assert other.mass_kg == shipped("wu2018").mass_kg != own.mass_kg
    np.testing.assert_array_equal(other.input_max_N, own.input_max_N)
    np.testing.assert_array_equal(other.input_min_N, own.input_min_N)
    limited = member.model_copy(update={"thrust_limit_N": 9.0})
    np.testing.assert_array_equal(limited.vehicle("wu2018").input_max_N, np.full(8, 9.0))
