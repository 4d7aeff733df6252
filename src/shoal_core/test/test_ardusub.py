"""ArduSub's mixer, the map from forces to its six axes, and the check of its parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.ardusub import mixer
from shoal.ardusub.axis_map import AxisMap
from shoal.ardusub.layout import layout_of
from shoal.ardusub.parameters import POSITION_SOURCES, asked_for, check, motor_directions
from shoal.errors import ShoalError
from shoal.vehicles.curves import load_table
from shoal.vehicles.description import Vehicle, load_vehicle

HEAVY = load_vehicle("bluerov2_heavy", "von_benzon2022")
MEASURED = [1633, 1100, 1633, 1633, 1366, 1100, 1633, 1366]  # ArduSub 4.5.7, all six channels at 1700


def test_mixer_gives_what_was_measured() -> None:
    assert mixer.outputs_us([1700] * 6) == MEASURED
    assert mixer.outputs_us(mixer.NEUTRAL_RC) == [1500] * 8
    turned = mixer.outputs_us([1700] * 6, directions=np.array([-1.0] + [1.0] * 7))
    assert turned == [1366, *MEASURED[1:]]
    yawed = mixer.outputs_us([1500, 1500, 1500, 1900, 1500, 1500], yaw_scale=0.5)
    assert yawed == [1700, 1300, 1300, 1700] + [1500] * 4


def test_channels_and_axes_are_each_others_inverse() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        channels = rng.integers(1100, 1901, 6).tolist()
        assert mixer.rc_of_axes(mixer.axes_of_rc(channels)) == channels


def test_each_axis_of_the_mixer_moves_the_heavy_that_way() -> None:
    """Independent of the layout's own search: thrust along ArduSub's directions, wrench from the vehicle's matrix."""
    layout = layout_of(HEAVY)
    assert layout.index.tolist() == list(range(8)) and layout.sign.tolist() == [-1, -1, 1, 1, -1, 1, 1, -1]
    # roll K, pitch M, yaw N, throttle −Z, forward X, lateral Y
    for axis, (row, way) in enumerate([(3, 1), (4, 1), (5, 1), (2, -1), (0, 1), (1, 1)]):
        force = layout.to_vehicle(10.0 * mixer.FACTORS[:, axis])
        wrench = HEAVY.input_matrix @ force
        assert way * wrench[row] > 1.0
        others = [k for k in range(3) if k != row]
        assert np.allclose(wrench[others], 0.0, atol=1e-9)


def test_layout_follows_order_and_direction_of_the_file() -> None:
    shuffled = tuple(HEAVY.thrusters[k] for k in (3, 0, 7, 5, 1, 2, 6, 4))
    turned = replace(shuffled[0], direction=-shuffled[0].direction)
    vehicle = replace(HEAVY, thrusters=(turned, *shuffled[1:]))
    layout, plain = layout_of(vehicle), layout_of(HEAVY)
    assert np.allclose(layout.wrench, plain.wrench)
    force = np.arange(8.0)
    assert np.allclose(layout.to_vehicle(layout.to_autopilot(force)), force)


@pytest.mark.parametrize("name", ["bluerov2", "delfia1"])
def test_other_vehicles_are_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(ShoalError, match="expected 8 fixed thrusters"):
        layout_of(load_vehicle(name))
    wrong = replace(HEAVY, thrusters=(HEAVY.thrusters[1], *HEAVY.thrusters[1:]))
    with pytest.raises(ShoalError, match=r"ArduSub's thruster 1: none; expected one"):
        layout_of(wrong)


def errors(axis_map: AxisMap, limit_N: float, count: int = 150) -> np.ndarray:
    """Relative error of the produced force, through whole microseconds, mixer, truncation and the T200's own table."""
    rng = np.random.default_rng(1)
    truth = load_table("t200").at(16.0)
    found = []
    for _ in range(count):
        force = rng.uniform(-limit_N, limit_N, 8)
        widths = np.array(mixer.outputs_us(axis_map.rc(force)), dtype=float)
        produced = HEAVY.input_matrix @ axis_map.layout.to_vehicle(truth.force_N(widths))
        wanted = HEAVY.input_matrix @ force
        found.append(np.linalg.norm((produced - wanted)[:3]) / np.linalg.norm(wanted[:3]))
    return np.array(found)


@pytest.mark.parametrize(("limit_N", "median", "high"), [(16.6, 0.01, 0.03), (6.2, 0.02, 0.08), (2.0, 0.06, 0.3)])
def test_newton_gives_the_wanted_wrench(limit_N: float, median: float, high: float) -> None:
    newton, simple = (errors(AxisMap(HEAVY, method=m), limit_N) for m in ("newton", "simple"))
    assert np.median(newton) < median and np.percentile(newton, 95) < high
    assert np.median(newton) < 0.6 * np.median(simple)


def test_voltage_is_in_the_curve() -> None:
    force = HEAVY.input_matrix.T @ np.array([20.0, 0, 0, 0, 0, 0])
    weak, strong = (AxisMap(HEAVY, voltage_V=v).rc(force) for v in (13.0, 18.0))
    assert weak[4] > strong[4] > 1500
    axis_map = AxisMap(HEAVY)
    assert axis_map.set_voltage(14.0) and axis_map.rc(force)[4] == AxisMap(HEAVY, voltage_V=14.0).rc(force)[4]
    assert not axis_map.set_voltage(3.0) and axis_map.voltage_V == 10.0
    wrong = AxisMap(HEAVY, voltage_V=14.0)  # what a 16 V vehicle gives for it: too much, as measured by others
    produced = AxisMap(HEAVY, voltage_V=16.0).wrench(wrong.axes(force))
    assert 1.1 < produced[0] / (HEAVY.input_matrix @ force)[0] < 1.25


def test_motor_directions_swap_the_strong_side() -> None:
    flipped = AxisMap(HEAVY, directions=-np.ones(8))
    plain = AxisMap(HEAVY)
    effort = np.linspace(-1, 1, 8)
    assert np.allclose(flipped.forces_N(effort), -plain.forces_N(-effort))
    force = np.linspace(-9.0, 9.0, 8)
    assert np.allclose(flipped.wrench(flipped.axes(force)), HEAVY.input_matrix @ force, atol=0.8)


def test_nothing_asked_is_neutral_and_too_much_is_within_the_ends() -> None:
    axis_map = AxisMap(HEAVY)
    assert axis_map.rc(np.zeros(8)) == [1500] * 6
    assert axis_map.rc(np.full(8, np.nan)) == [1500] * 6
    rng = np.random.default_rng(2)
    for _ in range(40):
        channels = axis_map.rc(rng.uniform(-500, 500, 8))
        assert all(1100 <= value <= 1900 for value in channels)


GOOD: dict[str, float] = {
    "FRAME_CONFIG": 2, "SYSID_MYGCS": 255, "FS_PILOT_INPUT": 2, "FS_PILOT_TIMEOUT": 3, "FS_GCS_ENABLE": 2,
    "FS_LEAK_ENABLE": 1, "ACRO_YAW_P": 3.375, "MOT_PWM_MIN": 1100, "MOT_PWM_MAX": 1900, "BATT_MONITOR": 4,
    "GPS_TYPE": 0, "VISO_TYPE": 1, "RC_OPTIONS": 32, "RC_OVERRIDE_TIME": 3, "EK3_SRC1_POSXY": 6, "EK3_SRC1_POSZ": 1,
    "EK3_SRC1_VELXY": 6, "EK3_SRC1_VELZ": 6, "EK3_SRC1_YAW": 6,
    **{f"MOT_{n}_DIRECTION": (-1) ** n for n in range(1, 9)}, **{f"SERVO{n}_FUNCTION": 32 + n for n in range(1, 9)},
    **{f"RC{n}_MIN": 1100 for n in range(1, 7)}, **{f"RC{n}_MAX": 1900 for n in range(1, 7)},
    **{f"RC{n}_TRIM": 1500 for n in range(1, 7)}, **{f"RC{n}_REVERSED": 0 for n in range(1, 7)}, "RC3_TRIM": 1100,
}  # fmt: skip
RENAMED = {"SYSID_MYGCS": "MAV_GCS_SYSID", "GPS_TYPE": "GPS1_TYPE"}  # in 4.6 and 4.7
MAPPED = {
    "RCMAP_PITCH": 1,
    "RCMAP_ROLL": 2,
    "RCMAP_THROTTLE": 3,
    "RCMAP_YAW": 4,
    "RCMAP_FORWARD": 5,
    "RCMAP_LATERAL": 6,
}
NEWER = {**{RENAMED.get(name, name): value for name, value in GOOD.items()}, **MAPPED, "RC3_TRIM": 1500,
         "VISO_QUAL_MIN": 0}  # fmt: skip


def test_a_good_set_has_no_finding() -> None:
    assert check(GOOD, "odometry") == []
    for source in POSITION_SOURCES[::2]:
        assert check(NEWER, source) == check({**NEWER, "MAV_GCS_SYSID": 250, "MAV_GCS_SYSID_HI": 255}, source) == []
    assert motor_directions(GOOD).tolist() == [-1, 1] * 4


WRONG = [
    ("FRAME_CONFIG", 1, True), ("SYSID_MYGCS", 254, True), ("FS_PILOT_INPUT", 0, True), ("FS_PILOT_TIMEOUT", 10, True),
    ("FS_GCS_ENABLE", 1, True), ("FS_LEAK_ENABLE", 2, False), ("ACRO_YAW_P", 4.5, True), ("MOT_PWM_MAX", 1800, True),
    ("BATT_MONITOR", 0, False), ("VISO_TYPE", 0, True), ("EK3_SRC1_POSXY", 3, True), ("EK3_SRC1_VELXY", 0, True),
    ("MOT_3_DIRECTION", 0, True), ("SERVO5_FUNCTION", 55, True), ("RC4_MAX", 2000, True), ("RC4_TRIM", 1520, True),
    ("RC3_TRIM", 1500, True), ("RC2_REVERSED", 1, True), ("RC_OPTIONS", 34, True), ("RC_OVERRIDE_TIME", 0, True),
    ("GPS_TYPE", 1, True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "serious"), WRONG)
def test_each_wrong_value_has_its_sentence(name: str, value: float, serious: bool) -> None:
    (finding,) = check({**GOOD, name: value}, "odometry")
    assert (finding.name, finding.serious) == (name, serious)
    assert name in finding.sentence and f"{value:g}" in finding.sentence


@pytest.mark.parametrize(
    ("name", "value"), [("RC3_TRIM", 1100), ("RCMAP_PITCH", 2), ("GPS1_TYPE", 1), ("VISO_QUAL_MIN", 50)]
)
def test_each_wrong_value_of_a_newer_version_has_its_sentence(name: str, value: float) -> None:
    (finding,) = check({**NEWER, name: value}, "odometry")
    assert finding.serious and name in finding.sentence and f"{value:g}" in finding.sentence


def test_silence_is_a_finding_too() -> None:
    for source in POSITION_SOURCES:
        names = {f.name for f in check({}, source) if f.serious}
        optional = {"MAV_GCS_SYSID", "MAV_GCS_SYSID_HI", "FS_LEAK_ENABLE", "BATT_MONITOR", "GPS1_TYPE", "VISO_QUAL_MIN"}
        optional |= {*MAPPED, "RC_OPTIONS", "RC_OVERRIDE_TIME"}
        assert names == set(asked_for(source)) - optional
    assert [f.serious for f in check({**GOOD, "BATT_MONITOR": 0, "FRAME_CONFIG": 0}, "vehicle")] == [True, False]


def test_the_vehicle_is_not_changed_by_a_map() -> None:
    vehicle: Vehicle = load_vehicle("bluerov2_heavy", "wu2018")  # a set without a curve: the table's counts
    assert AxisMap(vehicle).rc(np.full(8, 0.0)) == [1500] * 6
