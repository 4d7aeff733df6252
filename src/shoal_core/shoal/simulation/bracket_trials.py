"""Nielsen 2018's trials of two BlueROVs and a bracket: straight ahead, and turning on the port vehicle's thrust alone.

What the thesis does not print is assumed, and listed by `ASSUMED`; the inflow loss in the vehicle file was set by the
straight run itself, so its steady speed confirms nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import Composite, compose
from shoal.assembly.file import load_assembly
from shoal.assembly.joints import Assembly, Joint
from shoal.frames import matrix, yaw_of
from shoal.messages.state import ATTITUDE, POSITION
from shoal.simulation.open_loop import open_loop
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
MARKER_M = np.array([0.2415, -0.165, 0.0])  # (6.7), on the port vehicle
WAIT_S, STRAIGHT_S, TURN_S = 3.0, 12.0, 30.0
PERIOD_S = 0.05
RIGHTING_M = 1.0  # of buoyancy above weight
ASSUMED = (
    "two surge thrusters a vehicle, 0.111 m to both sides of its centre",
    "distance of the vehicles 0.6 m as in the assembly file, or as the table says",
    "mass, inertia and centres of bluerov2; a bracket of 2 kg",
    "thrust lost with speed: set by the straight run at 1800 us, so its speed confirms nothing",
    "a stiff righting moment in place of the thesis's controllers of depth and attitude: without one, the pair pitches "
    "over at 0.9 m/s (added mass in heave is five times that in surge)",
)


@dataclass(frozen=True)
class Straight:
    """All surge thrusters of both at 1500 us and more, from 3 s to 12 s."""

    speed_mps: float  # at the end
    travelled_m: float
    rise_s: float  # to 90 % of the speed at the end


@dataclass(frozen=True)
class Turning:
    """Those of the port vehicle only; the other one is dead weight."""

    width_north_m: float  # of the marker's track, peak to peak, once it goes round
    width_east_m: float
    half_turn_s: float  # from the start of thrust until the heading has turned by 180 degrees
    yaw_rate_radps: float  # at the end


def pair(distance_m: float | None = None, bracket_yaw: bool = True) -> Composite:
    """The shipped assembly with two surge thrusters a vehicle; `bracket_yaw`: with the printed 4.64 N m s."""
    file = load_assembly("bluerov_bracket")
    drawn = file.assembly()
    modules = {name: _surging(v) if v.thrusters else v for name, v in drawn.modules.items()}
    if not bracket_yaw:
        bracket = modules["bracket"]
        modules["bracket"] = replace(bracket, linear_damping=np.diag([*np.diag(bracket.linear_damping)[:5], 0.0]))
    joints = drawn.joints
    if distance_m is not None:
        half = np.array([0.0, distance_m / 4, 0.0])
        joints = tuple(Joint(j.a, j.b, half, -half, j.attitude) for j in joints)
    assembly = Assembly(modules, joints)
    group = tuple(modules)
    return compose(assembly, group, assembly.poses(group)["bracket"])


def _surging(vehicle: Vehicle) -> Vehicle:
    like = vehicle.thrusters[0]
    return replace(
        vehicle,
        cb_m=vehicle.cg_m - np.array([0.0, 0.0, RIGHTING_M]),
        thrusters=tuple(
            replace(like, name=name, position_m=np.array([0.0, y, 0.0]), direction=np.array([1.0, 0.0, 0.0]))
            for name, y in (("port", -0.111), ("starboard", 0.111))
        ),
    )


def straight(composite: Composite, offset_us: float) -> Straight:
    """12 s, the first three without thrust."""
    times_s, track, _ = _swim(composite, {"port": offset_us, "starboard": offset_us}, STRAIGHT_S)
    speed = np.linalg.norm(np.gradient(track, times_s, axis=0), axis=1)
    rise = float(times_s[np.argmax(speed >= 0.9 * speed[-1])]) - WAIT_S
    return Straight(float(speed[-1]), float(np.linalg.norm(track[-1] - track[0])), rise)


def turning(composite: Composite, offset_us: float) -> Turning:
    """30 s, the first three without thrust."""
    times_s, track, yaw = _swim(composite, {"port": offset_us}, TURN_S)
    turned = np.unwrap(yaw) - yaw[0]
    round_ = np.abs(turned) >= np.pi / 2  # from when it goes round, one turn
    first = int(np.argmax(round_))
    last = int(np.argmax(np.abs(turned) >= abs(turned[first]) + 2 * np.pi)) or len(turned) - 1
    width = np.ptp(track[first : last + 1], axis=0)
    half_s = float(times_s[np.argmax(np.abs(turned) >= np.pi)]) - WAIT_S
    rate = float((turned[-1] - turned[-21]) / (times_s[-1] - times_s[-21]))
    return Turning(float(width[0]), float(width[1]), half_s, rate)


def _swim(composite: Composite, offsets_us: Mapping[str, float], duration_s: float) -> tuple[Array, Array, Array]:
    """Times (T,), the marker's track (T,2) north and east, and the heading (T,)."""
    vehicle = composite.vehicle
    on_N = np.zeros(vehicle.input_count)
    for name, offset_us in offsets_us.items():
        for i in range(composite.inputs[name].start, composite.inputs[name].stop):
            curve = vehicle.thrusters[i].curve
            assert curve is not None  # the vehicle file has one
            on_N[i] = float(curve.force_N(np.array([1500.0 + offset_us]))[0])
    start = np.array([0, 0, 5.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])

    def program(t_s: float) -> Array:
        return np.asarray((on_N if t_s >= WAIT_S - 1e-9 else np.zeros_like(on_N))[None])

    swum = open_loop([vehicle], start[None], program, duration_s, period_s=PERIOD_S)
    marker, yaw = [], []
    for state in swum.states[:, 0]:
        port = composite.module_states(state)["port"]
        marker.append((port[POSITION] + matrix(port[ATTITUDE]) @ MARKER_M)[:2])
        yaw.append(yaw_of(state[ATTITUDE]))
    return swum.times_s, np.array(marker), np.array(yaw)
