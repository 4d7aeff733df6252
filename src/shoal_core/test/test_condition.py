"""Condition files: all of the spec's list ship, load, differ, and say what is wrong when they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.config.files import list_configs
from shoal.errors import ShoalError
from shoal.simulation.conditions import Condition, load_condition

TABLE = [
    "default",
    "ideal",
    "mass_x2",
    "added_mass_half",
    "added_mass_x2",
    "damping_half",
    "damping_x2",
    "loss_70",
    "current_025_waves",
    "current_05_waves",
    "circular_setpoint",
]
APPENDIX_E = [
    "loss_50",
    "current_03_plus_x",
    "current_03_minus_x",
    "current_03_plus_y",
    "current_03_minus_y",
    "current_03_plus_z",
    "current_03_minus_z",
    "delay_0_5",
    "delay_1",
    "delay_2",
    "delay_4",
    "delay_5",
    "delay_7",
    "delay_10",
    "one_vehicle_stopped",
    "noise_position_white",
    "noise_uniform_1",
    "noise_uniform_2",
    "noise_uniform_3",
    "mass_1kg",
    "mass_100kg",
    "mass_half",
    "cg_lowered",
    "inertia_half",
    "inertia_x2",
    "worst_case",
]


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_every_condition_of_the_spec_ships() -> None:
    assert set(TABLE + APPENDIX_E) <= set(list_configs("conditions"))


@pytest.mark.parametrize("name", list_configs("conditions"))
def test_shipped_condition_loads_and_describes_itself(name: str) -> None:
    condition = load_condition(name)
    assert condition.name == name
    assert condition.description and condition.source


def test_no_two_shipped_conditions_are_the_same() -> None:
    hashes = {name: load_condition(name).content_hash() for name in list_configs("conditions")}
    assert len(set(hashes.values())) == len(hashes)


def test_default_is_the_sea_trial_plant() -> None:
    condition = load_condition("default")
    assert condition.content_hash() == Condition().content_hash()
    assert condition.plant.perturbation == 0.2
    assert condition.plant.thrusters.lag.scale == (2 / 3, 4 / 3)  # of 0.15 s: 0.1 to 0.2 s
    assert condition.plant.thrusters.gain_spread == 0.05
    assert condition.plant.thrusters.dead_band.scale == 2.0
    sensors = condition.sensors
    assert (sensors.position_std_m, sensors.attitude_std_deg) == (0.02, 0.5)
    assert (sensors.velocity_std_mps, sensors.rate_std_dps) == (0.01, 0.5)
    assert (condition.start.radius_m, condition.start.angle_deg) == (2.0, 15.0)
    assert condition.control_delay_periods == 1


def test_ideal_switches_everything_off() -> None:
    ideal = load_condition("ideal")
    thrusters = ideal.plant.thrusters
    assert (ideal.plant.perturbation, thrusters.gain_spread) == (0.0, 0.0)
    assert (thrusters.lag.replace, thrusters.dead_band.replace) == (0.0, 0.0)
    assert all(value == 0 for key, value in ideal.sensors if key.endswith(("std_m", "std_deg", "std_mps", "std_dps")))
    assert ideal.start.radius_m == 0 and ideal.control_delay_periods == 0
    assert not ideal.environment.currents and ideal.link.loss == 0


@pytest.mark.parametrize(("name", "speed"), [("current_025_waves", 0.25), ("current_05_waves", 0.5)])
def test_waves_of_fosso_2023_flip_every_two_seconds(name: str, speed: float) -> None:
    steady, waves = load_condition(name).environment.currents
    assert steady.kind == "constant" and steady.velocity_mps == (speed, 0.0, 0.0)
    assert waves.kind == "square" and waves.amplitude_mps == (0.0, 0.0, speed) and waves.half_period_s == 2.0


@pytest.mark.parametrize("name", ["mass_x2", "mass_1kg", "damping_half", "added_mass_x2", "cg_lowered", "inertia_half"])
def test_wrong_models_leave_the_plant_alone(name: str) -> None:
    condition = load_condition(name)
    assert condition.plant == Condition().plant
    assert condition.controller_model != Condition().controller_model


def test_hash_sees_values_and_not_words() -> None:
    base = Condition()
    assert base.model_copy(update={"name": "x", "description": "y"}).content_hash() == base.content_hash()
    assert base.model_copy(update={"control_delay_periods": 2}).content_hash() != base.content_hash()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("link: {los: 0.5}", ["link.los", "0.5", "unknown key"]),
        ("link: {loss: 1.5}", ["link.loss", "1.5", "expected"]),
        (
            "plant: {thrusters: {lag: {scale: [0.2, 0.1]}}}",
            ["plant.thrusters.lag", "expected 0 <= smallest <= largest"],
        ),
        ("plant: {thrusters: {lag: {}}}", ["plant.thrusters.lag", "expected either scale or replace"]),
        (
            "plant: {thrusters: {lag: {scale: 1, replace: 1}}}",
            ["plant.thrusters.lag", "expected either scale or replace"],
        ),
        ("controller_time: {median_ms: 20, p99_ms: 10}", ["controller_time", "expected at least median_ms = 20"]),
        ("environment: {currents: [{kind: tide}]}", ["environment.currents.0", "tide", "expected"]),
        ("faults: [{vehicle: 0, kind: frozen, from_s: 5, to_s: 5}]", ["faults.0", "expected more than from_s"]),
        ("faults: [{vehicle: 0, kind: hold}]", ["faults.0.kind", "hold", "expected 'thrusters_dead'"]),
        ("link: {dropouts: [[3, 1]]}", ["dropout [3.0, 1.0]", "expected"]),
        ("link: {range_m: 7}", ["link.range_m is 7.0", "expected link.line_of_sight: true"]),
        ("start: {radius_m: 0.5}", ["min_distance_m is 1.5", "expected at most twice"]),
        ("formation: {kind: line, radius_m: 2}", ["formation", "expected radius_m with kind 'ring' only"]),
        ("sensors: {position_std_m: .nan}", ["sensors.position_std_m", "expected"]),
    ],
)
def test_a_mistake_is_named_with_file_key_and_expectation(tmp_path: Path, text: str, words: list[str]) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ShoalError) as caught:
        load_condition(file)
    for word in [str(file), *words]:
        assert word in str(caught.value)


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ShoalError, match=r"'no_such'.*expected.*default.*ideal"):
        load_condition("no_such")


def test_a_user_s_file_states_only_the_difference(tmp_path: Path) -> None:
    condition = load_condition(written(tmp_path, "link: {loss: 0.3}\n"))
    assert condition.name == "mine"
    assert condition.link.loss == 0.3
    assert condition.plant == Condition().plant
