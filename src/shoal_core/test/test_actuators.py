"""Thrusters: curves there and back, azimuths, inflow, numbers of their own for each, files of both versions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from typer.testing import CliRunner

import newton_euler
from shoal.cli import app
from shoal.config.files import find_config, read_yaml
from shoal.simulation.plant import Plant, PlantVehicle
from shoal.vehicles.actuators import AZIMUTH_SHARE, Devices, Thruster
from shoal.vehicles.curves import ThrusterTable, load_table, polynomial
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal.vehicles.parameters import parameter_vector, structure_of
from vehicles_for_tests import at_rest, neutral, shipped

Array = NDArray[np.float64]
T200 = load_table("t200")


def azimuth(**changes: object) -> Thruster:
    return replace(
        Thruster("stern", np.array([-0.155, 0.0, 0.02]), np.array([1.0, 0, 0]), 2.0, 2.0, 0.0, 0.1, kind="azimuth",
                 slew_radps=2.0),
        **changes,  # type: ignore[arg-type]
    )  # fmt: skip


def driven_by(*thrusters: Thruster) -> Vehicle:
    return replace(shipped("wu2018"), thrusters=thrusters)


# -- curves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("voltage_V", "forward_N", "reverse_N"), [
    (10, 28.7, 22.6), (12, 36.4, 28.5), (14, 44.4, 34.5), (16, 51.4, 39.9), (18, 59.0, 45.0), (20, 65.9, 49.4),
])  # fmt: skip
def test_t200_ends_are_the_published_ones(voltage_V: float, forward_N: float, reverse_N: float) -> None:
    curve = T200.at(voltage_V)
    assert curve.forces_N[-1] == pytest.approx(forward_N, abs=0.05)
    assert curve.forces_N[0] == pytest.approx(-reverse_N, abs=0.05)
    assert curve.force_N(np.array([1480.0, 1500.0, 1520.0])).tolist() == [0, 0, 0]


def test_t200_dead_zone_shrinks_with_voltage() -> None:
    for voltage_V, low, high in ((10, 1456, 1544), (16, 1468, 1532)):
        curve = T200.at(voltage_V)
        assert curve.force_N(np.array([low, high])) == pytest.approx([-0.35, 0.39], abs=0.06)
        assert curve.force_N(np.array([low + 4.0, high - 4.0])).tolist() == [0, 0]


@pytest.mark.parametrize(("voltage_V", "within_N"), [(10, 0.12), (12, 0.12), (15.3, 0.12), (16, 0.12), (20, 0.15)])
def test_t200_there_and_back(voltage_V: float, within_N: float) -> None:
    """Half a microsecond of rounding; at 20 V it is worth 0.14 N where the curve is steepest."""
    curve = T200.at(voltage_V)
    forces = np.linspace(curve.forces_N[0], curve.forces_N[-1], 3001)
    signals = curve.signal(forces)
    np.testing.assert_array_equal(signals, np.round(signals))
    assert np.abs(curve.force_N(signals) - forces).max() <= within_N
    assert curve.signal(np.array([0.0, 1e3, -1e3])).tolist() == [1500, 1900, 1100]


def test_a_16_volt_inverse_at_14_volts_gives_too_little() -> None:
    forces = np.array([2.0, 6.2, 16.6, 30.0])
    share = T200.at(14.0).force_N(T200.at(16.0).signal(forces)) / forces
    np.testing.assert_allclose(share, [0.80, 0.835, 0.86, 0.86], atol=0.03)


def test_every_number_of_the_table_acts() -> None:
    data = read_yaml(find_config("thrusters", "t200"))
    for row, signal in enumerate(data["signals_us"]):
        for column, voltage_V in enumerate(data["voltages_V"]):
            changed = yaml.safe_load(yaml.safe_dump(data))
            changed["forces_N"][row][column] += 3.0 * np.sign(signal - 1500)
            one, other = T200.at(voltage_V), ThrusterTable.model_validate(changed).at(voltage_V)
            assert one.force_N(np.array(signal)) != other.force_N(np.array(signal))


def test_a_polynomial_is_its_formula() -> None:
    """Nielsen 2018, Table 4.4: 0.03123 x + 2.52e-4 x² N at x µs from neutral, nothing within 25 µs."""
    curve = polynomial("us", 1500, 0, 25, 400, (3.123e-2, 2.52e-4), (3.123e-2, 2.52e-4))
    assert curve.force_N(np.array(1700.0)) == pytest.approx(16.326, abs=1e-3)
    assert curve.force_N(np.array(1300.0)) == pytest.approx(-16.326, abs=1e-3)
    assert curve.force_N(np.array([1476.0, 1524.0])) == pytest.approx(0.0)
    forces = np.linspace(1.0, 50.0, 100)
    np.testing.assert_allclose(curve.force_N(curve.signal(forces)), forces, atol=1e-9)


# -- fixed thrusters -------------------------------------------------------------------------------------------------


def test_a_thruster_with_a_curve_gives_what_its_device_gives() -> None:
    vehicle = shipped("von_benzon2022")
    gives = Devices(vehicle.thrusters)(np.array([20.0, -20.0, 20.0, -20.0, 0.1, 300.0, -300.0, 300.0]))
    np.testing.assert_allclose(gives[:4], [20, -20, 20, -20], atol=0.12)
    assert gives[4] == pytest.approx(0.1, abs=0.12)
    np.testing.assert_allclose(gives[5:], [51.44, -39.91, 39.91], atol=0.01)  # 8 is reversed
    device = [t.to_device(np.array([20.0]))[0] for t in vehicle.thrusters]
    assert device[2] == device[3] == T200.at(16).signal(np.array(20.0)) > 1500
    assert device[0] == T200.at(16).signal(np.array(-20.0)) < 1500  # reversed


def test_a_flat_battery_gives_less_than_was_asked_for() -> None:
    vehicle = shipped("von_benzon2022")
    flat = PlantVehicle(vehicle, np.ones(8), (T200.at(12.0),) * 8)
    plant = Plant([flat, vehicle], at_rest(2))
    plant.step(np.full((2, 8), 10.0), 3.0)
    assert plant.forces_N[1] == pytest.approx(np.full(8, 10.0), abs=0.12)
    assert plant.forces_N[0] == pytest.approx(np.full(8, 6.6), abs=0.5)


def test_each_thruster_has_its_own_lag_and_dead_band() -> None:
    base = shipped("wu2018").thrusters
    slow = replace(base[0], time_constant_s=1.0)
    deaf = replace(base[1], dead_band_N=3.0)
    vehicle = replace(shipped("wu2018"), thrusters=(slow, deaf, *base[2:]))
    plant = Plant([vehicle], at_rest())
    plant.step(np.full((1, 8), 2.0), 0.3)
    forces = plant.forces_N[0]
    assert forces[0] == pytest.approx(2 * (1 - np.exp(-0.3)), rel=1e-9)
    assert forces[1] == 0.0
    np.testing.assert_allclose(forces[2:], 2 * (1 - np.exp(-2.0)), rtol=1e-9)


def test_thrust_falls_with_inflow() -> None:
    """Terminal surge speed in closed form: each thruster at 45° sees u/√2 along itself."""
    loss, force_N = 0.8, 5.0
    base = shipped("wu2018")
    horizontal = tuple(replace(t, inflow_loss=loss, time_constant_s=0.0) for t in base.thrusters[:4])
    level = tuple(replace(t, position_m=t.position_m * [1, 1, 0]) for t in horizontal)
    straight = replace(neutral(base), thrusters=level, added_mass_coriolis=False)
    plant = Plant([straight], at_rest())
    plant.step(np.full((1, 4), force_N), 60.0)
    speed = plant.states[0, 7]
    thrust = 4 * np.sqrt(0.5) * (force_N - loss * np.sqrt(force_N) * speed * np.sqrt(0.5))
    drag = base.linear_damping[0, 0] * speed + base.quadratic_damping[0, 0] * speed**2
    assert drag == pytest.approx(thrust, rel=1e-6)


# -- azimuths --------------------------------------------------------------------------------------------------------


def test_an_azimuth_is_two_inputs() -> None:
    vehicle = driven_by(azimuth(), replace(azimuth(), name="bow", position_m=np.array([0.155, 0, 0.02])))
    assert vehicle.input_names == ("stern_x", "stern_y", "bow_x", "bow_y")
    np.testing.assert_allclose(vehicle.input_matrix[[0, 1, 5]], [[1, 0, 1, 0], [0, 1, 0, 1], [0, -0.155, 0, 0.155]])
    assert vehicle.controlled_axes == {"surge", "sway", "yaw"}
    np.testing.assert_allclose(vehicle.input_max_N, AZIMUTH_SHARE * 2.0)


def test_an_azimuth_turns_at_its_slew_the_short_way_and_not_while_idle() -> None:
    plant = Plant([driven_by(azimuth())], at_rest())
    plant.step(np.array([[0.0, 1.0]]), 0.1)
    thrust, angle = plant.forces_N[0]
    assert (thrust, angle) == pytest.approx((1.0, 0.2))  # 2 rad/s
    plant.step(np.array([[0.0, 0.05]]), 0.5)  # inside the dead band
    assert plant.forces_N[0] == pytest.approx([0.0, 0.2])
    plant.step(np.array([[-1.0, -0.3]]), 1.0)  # at −2.85 rad: shorter through −1 than through +3.4
    assert plant.forces_N[0] == pytest.approx([np.hypot(1, 0.3), 0.2 - 2.0])
    plant.step(np.array([[-9.0, -2.7]]), 1.0)
    assert plant.forces_N[0] == pytest.approx([2.0, np.arctan2(-2.7, -9.0)])  # shortened to the circle


def test_an_azimuth_moves_the_vehicle_as_independent_dynamics_say() -> None:
    vehicle = driven_by(azimuth(slew_radps=1e3))
    plant = Plant([vehicle], at_rest(), substep_s=0.002)
    command = np.array([0.8, -0.9])
    plant.step(command[None], 0.01)  # turned
    state = plant.states[0].copy()
    plant.step(command[None], 0.002)
    expected = newton_euler.state_derivative(vehicle, state, command, np.zeros(3), np.zeros(6))
    np.testing.assert_allclose((plant.states[0] - state)[7:] / 0.002, expected[7:], atol=2e-3)


def test_an_azimuth_says_revolutions_and_angle() -> None:
    curve = polynomial("1/s", 0, 0, 8, 100, (0.0018,), (0.0018,))
    thruster = azimuth(curve=curve, max_forward_N=0.18, dead_band_N=0.0)
    assert thruster.to_device(np.array([0.0, 0.09])) == pytest.approx([50.0, np.pi / 2])
    assert thruster.to_device(np.array([0.0, 0.0]), 0.7) == pytest.approx([0.0, 0.7])  # stays where it is
    gives = Devices((thruster,))(np.array([3.0, 4.0]))
    np.testing.assert_allclose(gives, 0.18 * np.array([0.6, 0.8]), rtol=1e-6)


# -- files -----------------------------------------------------------------------------------------------------------

V1 = """
# A boat.
version: 1
name: boat
description: for a test
size_m: [1, 1, 1]
default_set: only
thrusters:
  - {name: a, position_m: [0, 1, 0], direction: [1, 0, 0], max_forward_N: 7}
  - {name: b, position_m: [0, -1, 0], direction: [1, 0, 0]}
  - {name: c, position_m: [0, -1, 0], direction: [0, 2, 0]}
sets:
  only:
    source: made up for a test
    mass: {value: 10, unit: kg, source: none}
    weight: {value: 98, unit: N, source: none}
    buoyancy: {value: 98, unit: N, source: none}
    inertia: {value: [1, 1, 1], unit: kg m^2, source: none}
    center_of_gravity: {value: [0, 0, 0], unit: m, source: none}
    center_of_buoyancy: {value: [0, 0, -0.1], unit: m, source: none}
    added_mass: {value: [1, 1, 1, 1, 1, 1], unit: "kg, kg m^2", source: none}
    linear_damping: {value: [1, 1, 1, 1, 1, 1], unit: "N s/m, N m s", source: none}
    quadratic_damping: {value: [1, 1, 1, 1, 1, 1], unit: "N s^2/m^2, N m s^2", source: none}
    max_forward_thrust: {value: [5, 6, 5], unit: N, source: some}
    max_reverse_thrust: {value: 4, unit: N, source: some}
    thruster_time_constant: {value: 0.2, unit: s, source: some}
    thruster_dead_band: {value: 0.3, unit: N, source: some}
"""


@pytest.mark.filterwarnings("ignore:.*no thrust along heave")
def test_version_1_is_read_and_upgraded_to_the_same_vehicle(tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(V1, encoding="utf-8")
    outcome = CliRunner().invoke(app, ["vehicle", "upgrade", str(old), "--out", str(new)])
    assert outcome.exit_code == 0, outcome.output
    assert new.read_text(encoding="utf-8").startswith("\n# A boat.\n") and read_yaml(new)["version"] == 2
    first, second = load_vehicle(old), load_vehicle(new)
    assert first.input_max_N.tolist() == second.input_max_N.tolist() == [7, 6, 5]
    assert first.input_min_N.tolist() == [-4, -4, -4] and second.input_lag_s.tolist() == [0.2] * 3
    structure = structure_of(first)
    np.testing.assert_array_equal(parameter_vector(first, structure), parameter_vector(second, structure))
    assert [t.dead_band_N for t in second.thrusters] == [0.3] * 3
    again = CliRunner().invoke(app, ["vehicle", "upgrade", str(new)])
    assert again.exit_code == 2 and "version = 2: nothing to upgrade; expected 1" in again.output


def test_within_its_dead_zone_a_device_gives_nothing_or_the_least_it_can() -> None:
    thruster = load_vehicle("delfia1").thrusters[0]
    asked = np.array([0.001, 0.007, 0.0075, 0.0143, 0.02, 0.3])
    assert thruster.produced_N(asked) == pytest.approx([0, 0, 0.0144, 0.0144, 0.02, 0.18], abs=1e-6)
