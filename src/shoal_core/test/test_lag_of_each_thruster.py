"""Thrusters of different lag in one vehicle: nothing is averaged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.estimation.actuator_state import ActuatorState, lag_ratios
from shoal.estimation.timing_bank import TimingBankSettings, TimingEstimate
from shoal.fleet.actuation import Actuation
from shoal.fleet.overdrive import Leads, Overdrive
from shoal.vehicles.description import Vehicle, load_vehicle

LAGS_S = np.array([0.05, 0.05, 0.05, 0.05, 0.35, 0.35, 0.35, 0.35])


def mixed() -> Vehicle:
    vehicle = load_vehicle("bluerov2_heavy")
    pairs = zip(vehicle.thrusters, LAGS_S.tolist(), strict=True)
    return replace(vehicle, thrusters=tuple(replace(t, time_constant_s=lag_s) for t, lag_s in pairs))


def test_ratios_to_the_mean_and_none_where_all_are_alike() -> None:
    ratios = lag_ratios(LAGS_S)
    assert ratios is not None
    np.testing.assert_allclose(ratios, LAGS_S / 0.2)
    assert lag_ratios(np.full(8, 0.15)) is None and lag_ratios(np.zeros(8)) is None


def test_each_force_closes_up_with_its_own_time_constant() -> None:
    at = ActuatorState(8, 0.2, 0.03, lag_ratios(LAGS_S))
    command, force, impulse = np.arange(1.0, 9.0), np.zeros(8), np.zeros(8)
    at.command(0.0, command)
    for segment in at.segments(0.0, 0.5, 0.05):
        impulse += segment.duration_s * segment.mean_N(force)
        force = segment.end_N(force)
    np.testing.assert_allclose(force, command * (1 - np.exp(-0.47 / LAGS_S)), rtol=1e-9)
    np.testing.assert_allclose(impulse, command * (0.47 - LAGS_S * (1 - np.exp(-0.47 / LAGS_S))), rtol=1e-9)


@pytest.mark.parametrize("bank", [True, False])
def test_what_the_thrusters_are_doing_is_believed_one_by_one(bank: bool) -> None:
    vehicle, believed = mixed(), TimingEstimate(0.2, 0.0)
    actuation = Actuation(vehicle, believed, 0.05, 2.0, 0.5, TimingBankSettings(enabled=bank))
    actuation.command(0.0, np.full(8, 4.0))
    force = np.zeros(8)
    for segment in actuation.segments(0.0, 0.1, 0.05):
        force = segment.end_N(force)
    np.testing.assert_allclose(force, 4.0 * (1 - np.exp(-0.1 / LAGS_S)), rtol=1e-9)
    actuation.set_vehicle(load_vehicle("bluerov2_heavy"))  # alike again
    for segment in actuation.segments(0.0, 0.1, 0.05):
        assert np.ndim(segment.left_at_end) == 0


def test_slower_thrusters_are_overdriven_more_so_that_all_act_at_one_time() -> None:
    vehicle, leads = mixed(), Leads.of(0.2, 2.0, 2.0)
    acting, wanted = np.zeros(8), np.full(8, 3.0)
    factors = Overdrive(vehicle).command(acting, wanted, leads) / wanted
    np.testing.assert_allclose(factors, np.maximum(2.0 * LAGS_S / 0.2, 1.0))
    slow = LAGS_S > 0.2
    np.testing.assert_allclose(LAGS_S[slow] / factors[slow], leads.force_s)
