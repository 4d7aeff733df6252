"""Settings in newtons go with the vehicle: nothing changes for a BlueROV2, and a small vessel or a raft are steered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import shoal.fleet.file as fleet_file
from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.nmpc import Nmpc
from shoal.control.settings import NmpcSettings, Weights
from shoal.estimation.ekf import EstimatorSettings, StateEstimator
from shoal.fleet.agent_settings import AgentSettings
from shoal.fleet.generate import resolve_fleet
from shoal.fleet.monitor import MonitorSettings
from shoal.messages.health import Mode
from shoal.tasks.run import RunSpec, simulate
from shoal.vehicles.description import Thruster, Vehicle
from shoal.vehicles.scale import VehicleScale, beyond_alike
from vehicles_for_tests import SETS, shipped

ONE = VehicleScale(force=1.0, moment=1.0, input=1.0, per_input2=1.0)


def small_vessel() -> Vehicle:
    """4 kg, 0.43 N in all: two azimuths as four inputs, held by its waterplane."""
    thrusters = tuple(
        Thruster(f"{place}_{way}", np.array([x_m, 0.0, 0.03]), direction, 0.107, 0.107, 0.2, 0.0)
        for place, x_m in (("bow", 0.13), ("stern", -0.13))
        for way, direction in (("x", np.array([1.0, 0.0, 0.0])), ("y", np.array([0.0, 1.0, 0.0])))
    )
    return replace(
        shipped("wu2018"),
        name="small_vessel",
        size_m=(0.38, 0.18, 0.1),
        mass_kg=4.0,
        weight_N=39.24,
        buoyancy_N=39.24,
        inertia_kgm2=np.diag([0.02, 0.06, 0.06]),
        cg_m=np.zeros(3),
        cb_m=np.zeros(3),
        added_mass=np.diag([0.5, 2.0, 5.0, 0.01, 0.05, 0.03]),
        linear_damping=np.diag([1.1, 1.0, 20.0, 0.3, 1.0, 0.05]),
        quadratic_damping=np.zeros((6, 6)),
        thrusters=thrusters,
        waterplane=np.array([604.0, 1.2, 13.7]),
    )


def twentyfold(vehicle: Vehicle) -> Vehicle:
    """Every thruster twenty times: the inputs of a raft."""
    copies = (replace(t, name=f"{t.name}{i}") for i in range(20) for t in vehicle.thrusters)
    return replace(vehicle, thrusters=tuple(copies), mass_kg=20 * vehicle.mass_kg, weight_N=20 * vehicle.weight_N)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("limit_N", [None, 6.2, 16.6])
def test_every_bluerov2_keeps_its_numbers(name: str, limit_N: float | None) -> None:
    vehicle = shipped(name) if limit_N is None else shipped(name).with_thrust_limit(limit_N)
    scale = VehicleScale.of(vehicle)
    assert scale == ONE
    settings = AgentSettings()
    assert scale.fit(settings) is settings
    assert scale.fit(NmpcSettings()) == NmpcSettings()


def test_a_factor_grows_steadily_from_one_to_the_ratio() -> None:
    ratios = np.geomspace(1e-3, 1e3, 601)
    found = np.array([beyond_alike(r) for r in ratios])
    assert np.all(np.diff(found) >= 0)
    assert np.abs(np.diff(np.log(found))).max() < 2.1 * np.diff(np.log(ratios))[0]
    alike = (ratios > 0.26) & (ratios < 3.9)
    assert np.all(found[alike] == 1.0)
    far = (ratios < 1 / 17) | (ratios > 17)
    assert found[far] == pytest.approx(ratios[far])


def test_settings_go_with_the_vehicle_and_given_ones_do_not() -> None:
    scale = VehicleScale.of(small_vessel())
    estimator = scale.fit(EstimatorSettings())
    assert 0.01 < estimator.force_N < 0.43  # of 0.43 N in all
    assert estimator.position_m == EstimatorSettings().position_m
    assert scale.fit(EstimatorSettings(force_N=3.0)).force_N == 3.0
    assert 0.05 < scale.fit(MonitorSettings()).unexplained_N < 1.0
    fitted = scale.fit(NmpcSettings(weights=Weights(thrust=5.0))).weights
    assert fitted.thrust == 5.0
    full_thrust = fitted.proximal * 0.107**2
    assert full_thrust == pytest.approx(Weights().proximal * 16.6**2, rel=1e-9)


def test_a_raft_s_full_thrust_costs_what_one_vehicle_s_does() -> None:
    one = shipped("wu2018").with_thrust_limit(16.6)
    scale = VehicleScale.of(twentyfold(one))
    assert scale.force == 20.0 and scale.input == 1.0
    assert scale.per_input2 == pytest.approx(1 / 20)


def test_controller_and_estimator_use_them() -> None:
    vessel, settings = small_vessel(), NmpcSettings(fine_steps=5)
    nmpc = Nmpc(vessel, settings, 1, choose_backend("hpipm-vm"))
    assert nmpc.problem.weights[0] == pytest.approx(2 * VehicleScale.of(vessel).per_input2 * Weights().thrust)
    nmpc.set_vehicle(vessel)  # once more: not scaled twice
    assert nmpc.problem.weights[0] == pytest.approx(2 * VehicleScale.of(vessel).per_input2 * Weights().thrust)
    assert StateEstimator(vessel, EstimatorSettings()).covariance[12, 12] < 1.0
    assert StateEstimator(shipped("wu2018"), EstimatorSettings()).covariance[12, 12] == 400.0


def test_a_small_vessel_follows_the_circle_in_the_sea_trial_with_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = resolve_fleet("one")
    monkeypatch.setattr(fleet_file, "load_vehicle", lambda *_: small_vessel())
    member = fleet.vehicles[0].model_copy(update={"thrust_limit_N": None})
    run = simulate(RunSpec("circle", fleet.model_copy(update={"vehicles": (member,)}), "default", 1, duration_s=30.0))
    assert set(run.mode.ravel().tolist()) == {Mode.CONTROLLER}
    assert run.issue_shares == {}
    settled = run.times_s > 15.0
    off_m = np.linalg.norm(run.states[settled, 0, :2] - run.setpoints_m[settled, 0, :2], axis=1)
    assert off_m.mean() < 0.25  # 0.4 m with a BlueROV2's numbers
