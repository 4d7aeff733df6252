"""ArduSub's parameters as the bridge needs them: one sentence for each that does not fit.

A serious finding keeps the bridge from arming; the others are only named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.ardusub.mixer import AXES, CHANNELS, COUNT, HALF_RANGE_US, NEUTRAL_US

YAW_GAIN = 3.375  # MANUAL multiplies yaw by ACRO_YAW_P over this
POSITION_SOURCES = ("vehicle", "pose", "odometry")  # whose: the autopilot's own; VISION_POSITION_ESTIMATE; ODOMETRY
ROUTES = ("axes", "outputs")  # RC overrides of six axes; all eight outputs through the script on the autopilot
GCS_NAMES = ("SYSID_MYGCS", "MAV_GCS_SYSID")  # up to 4.5, from 4.7 on
GPS_NAMES = ("GPS_TYPE", "GPS1_TYPE")  # up to 4.5, from 4.6 on
IGNORE_OVERRIDES = 2  # of the bits of RC_OPTIONS
# MANUAL takes throttle as 0 to 1 from the trim up to 4.5, as −1 to 1 about it from 4.7 on: the other's is full thrust.
THROTTLE_CHANNEL, THROTTLE_TRIMS_US = 3, (NEUTRAL_US - HALF_RANGE_US, NEUTRAL_US)
# Where the estimator takes its position from, for each source.
_EXTERNAL = {"VISO_TYPE": (1,), "EK3_SRC1_POSXY": (6,), "EK3_SRC1_POSZ": (1, 6)}
EKF_SOURCES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "vehicle": {},
    "pose": {**_EXTERNAL, "EK3_SRC1_VELXY": (0,), "EK3_SRC1_VELZ": (0,), "EK3_SRC1_YAW": (6,)},
    "odometry": {**_EXTERNAL, "EK3_SRC1_VELXY": (6,), "EK3_SRC1_VELZ": (6,), "EK3_SRC1_YAW": (1, 6)},
}
_CHANNEL_OF = {f"RCMAP_{axis.upper()}": channel for axis, channel in zip(AXES, CHANNELS, strict=True)}  # from 4.7 on


@dataclass(frozen=True)
class Finding:
    """What does not fit."""

    name: str
    serious: bool
    sentence: str


def asked_for(source: str, route: str = "axes") -> tuple[str, ...]:
    """Names of all parameters that are looked at."""
    names = ["FRAME_CONFIG", *GCS_NAMES, "MAV_GCS_SYSID_HI", "FS_PILOT_INPUT", "FS_PILOT_TIMEOUT", "FS_GCS_ENABLE"]
    names += ["FS_LEAK_ENABLE", "ACRO_YAW_P", "MOT_PWM_MIN", "MOT_PWM_MAX", "BATT_MONITOR", *EKF_SOURCES[source]]
    for n in range(1, COUNT + 1):
        names += [f"MOT_{n}_DIRECTION", f"SERVO{n}_FUNCTION"]
    for n in range(1, 7):
        names += [f"RC{n}_MIN", f"RC{n}_MAX", f"RC{n}_TRIM", f"RC{n}_REVERSED"]
    names += ["RC_OPTIONS", "RC_OVERRIDE_TIME", *_CHANNEL_OF]
    names += [*GPS_NAMES, "VISO_QUAL_MIN"] if source != "vehicle" else []
    return (*names, "SCR_ENABLE") if route == "outputs" else tuple(names)


def check(values: Mapping[str, float], source: str, system_id: int = 255, route: str = "axes") -> list[Finding]:
    """Findings, the serious ones first. `values` holds what the autopilot answered, of `asked_for`."""
    found = [*_frame(values), *_channels(values), *_failsafes(values), *_outputs(values), *_estimator(values, source)]
    if route == "outputs":
        found += _expect(values, "SCR_ENABLE", (1,), "scripts run on the autopilot; route is 'outputs'")
    found += _commander(values, system_id)
    return sorted(found, key=lambda finding: not finding.serious)


def motor_directions(values: Mapping[str, float]) -> NDArray[np.float64]:
    """MOT_n_DIRECTION (8,), ±1; 1 for one that is not known."""
    return np.array([np.sign(values.get(f"MOT_{n}_DIRECTION", 1.0)) or 1.0 for n in range(1, COUNT + 1)])


def _expect(
    values: Mapping[str, float], name: str, allowed: Collection[float], why: str, serious: bool = True
) -> Iterator[Finding]:
    words = " or ".join(f"{value:g}" for value in allowed)
    value = values.get(name)
    if value is None:
        yield Finding(name, serious, f"{name}: the autopilot did not answer; expected {words} ({why})")
    elif value not in allowed:
        yield Finding(name, serious, f"{name} = {value:g}; expected {words} ({why})")


def _if_known(values: Mapping[str, float], name: str, allowed: Collection[float], why: str) -> Iterator[Finding]:
    """Of a parameter that not every version has."""
    if name in values:
        yield from _expect(values, name, allowed, why)


def _frame(values: Mapping[str, float]) -> Iterator[Finding]:
    yield from _expect(values, "FRAME_CONFIG", (2,), "vectored 6DOF, the Heavy's frame")
    yield from _expect(values, "ACRO_YAW_P", (YAW_GAIN,), "MANUAL scales yaw by it")


def _channels(values: Mapping[str, float]) -> Iterator[Finding]:
    """What MANUAL makes of an override."""
    low, high = NEUTRAL_US - HALF_RANGE_US, NEUTRAL_US + HALF_RANGE_US
    newer = GCS_NAMES[1] in values
    for n in range(1, 7):
        yield from _expect(values, f"RC{n}_MIN", (low,), "one end of an override")
        yield from _expect(values, f"RC{n}_MAX", (high,), "the other end of an override")
        trim, why = NEUTRAL_US, "neutral of an override"
        if n == THROTTLE_CHANNEL:
            trim = THROTTLE_TRIMS_US[newer]
            why = "ArduSub 4.7 and newer; with another a neutral override is thrust" if newer else "before ArduSub 4.7"
        yield from _expect(values, f"RC{n}_TRIM", (trim,), why)
        yield from _expect(values, f"RC{n}_REVERSED", (0,), "an override of that axis would push the other way")
    for name, channel in _CHANNEL_OF.items():
        yield from _if_known(values, name, (channel,), "the axis of that override")
    if int(values.get("RC_OPTIONS", 0)) & IGNORE_OVERRIDES:
        sentence = f"RC_OPTIONS = {values['RC_OPTIONS']:g}: overrides are ignored; expected bit 1 (value 2) to be off"
        yield Finding("RC_OPTIONS", True, sentence)
    if values.get("RC_OVERRIDE_TIME", -1.0) == 0:
        yield Finding("RC_OVERRIDE_TIME", True, "RC_OVERRIDE_TIME = 0: overrides are off; expected 3")


def _commander(values: Mapping[str, float], system_id: int) -> Iterator[Finding]:
    known = [name for name in GCS_NAMES if name in values]
    if not known:
        names = " or ".join(GCS_NAMES)
        yield Finding(GCS_NAMES[0], True, f"{names}: the autopilot did not answer; expected {system_id}")
        return
    name = known[0]
    first = values[name]
    last = max(first, values.get("MAV_GCS_SYSID_HI", first))
    if not first <= system_id <= last:
        why = "overrides of other systems are ignored"
        yield Finding(name, True, f"{name} = {first:g}; expected {system_id}, the bridge's system id ({why})")


def _failsafes(values: Mapping[str, float]) -> Iterator[Finding]:
    yield from _expect(values, "FS_PILOT_INPUT", (2,), "disarm when overrides stop; without it the last one stays on")
    yield from _expect(values, "FS_GCS_ENABLE", (2,), "disarm when the heartbeat stops")
    timeout_s = values.get("FS_PILOT_TIMEOUT")
    if timeout_s is None or not 0 < timeout_s <= 3.0:
        seen = "the autopilot did not answer" if timeout_s is None else f"{timeout_s:g} s"
        yield Finding("FS_PILOT_TIMEOUT", True, f"FS_PILOT_TIMEOUT: {seen}; expected above 0 and at most 3 s")
    if values.get("FS_LEAK_ENABLE") == 2:
        why = "without a position it stays in MANUAL and armed: a leak must be watched by the operator"
        yield Finding("FS_LEAK_ENABLE", False, f"FS_LEAK_ENABLE = 2 (surface); {why}")


def _outputs(values: Mapping[str, float]) -> Iterator[Finding]:
    yield from _expect(values, "MOT_PWM_MIN", (NEUTRAL_US - HALF_RANGE_US,), "the thrust curve's lower end")
    yield from _expect(values, "MOT_PWM_MAX", (NEUTRAL_US + HALF_RANGE_US,), "the thrust curve's upper end")
    for n in range(1, COUNT + 1):
        yield from _expect(values, f"MOT_{n}_DIRECTION", (1, -1), "as the motor setup found it")
        why = f"motor {n}; a passthrough or a plain servo would turn while disarmed"
        yield from _expect(values, f"SERVO{n}_FUNCTION", (32 + n,), why)
    if values.get("BATT_MONITOR", 0) == 0:
        why = "thrust is worked out for the voltage of the bridge's parameter `voltage_V`"
        yield Finding("BATT_MONITOR", False, f"BATT_MONITOR = 0: no battery voltage; {why}")


def _estimator(values: Mapping[str, float], source: str) -> Iterator[Finding]:
    if source != "vehicle":
        known = [name for name in GPS_NAMES if name in values]
        yield from _expect(values, known[0] if known else GPS_NAMES[0], (0,), f"position_source is '{source}'")
        if values.get("VISO_QUAL_MIN", 0) > 0:
            sentence = "positions are sent without a figure for their quality"
            yield Finding(
                "VISO_QUAL_MIN", True, f"VISO_QUAL_MIN = {values['VISO_QUAL_MIN']:g}; expected 0 ({sentence})"
            )
    for name, allowed in EKF_SOURCES[source].items():
        yield from _expect(values, name, allowed, f"position_source is '{source}'")
