"""The experiments of Ng 2024 (ch. 5): settling sweep, frequency response, old against new model, a pilot's dive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from shoal.autopilot.attitude import ModelBasedLaw, PdLaw, WantedAttitude
from shoal.autopilot.dive import Dive
from shoal.autopilot.gains import KAPPA, attitude_gains, closed_loop
from shoal.autopilot.step_response import (
    AttitudeLoop,
    LoopTiming,
    Response,
    filtered_step_to,
    overshoot,
    settling_s,
    step_to,
)
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal.vehicles.mixers import MixerName, heuristic, largest_wrench, mixer

Array = NDArray[np.float64]
QUARTER_TURN = np.array([0.0, 0.0, np.pi / 2])
# Stands in for the tank of Ng 2024, whose data are not published. Of twelve plants that differ from the simulator in
# latency, lag and drag, three behave as the thesis says of its tank (settling falls continuously with ω_d; convergence
# less sharp than in the simulator); this is the one of them that is furthest from the simulator.
TANK = LoopTiming(latency_s=0.06, thruster_lag_s=0.10)
TANK_DAMPING = 1.2
# A tank with slow thrusters and little drag; it swings above 3 rad/s, which the thesis's did not.
HARD_TANK = LoopTiming(latency_s=0.06, thruster_lag_s=0.15)
HARD_TANK_DAMPING = 0.9
OLD_TIMING = LoopTiming(thruster_lag_s=0.0)  # ArduSub's own simulator has no thruster lag


@dataclass(frozen=True)
class Step:
    """A quarter turn in yaw."""

    omega_radps: float
    overshoot: float  # share of the step
    settling_s: float  # ±5 %


@dataclass(frozen=True)
class Tracking:
    """Of roll, pitch and yaw over a dive."""

    rms_deg: Array  # (3,)
    iae_deg_s: Array  # (3,) integral of the absolute error
    effort: Array  # (3,) Σ|u| over the steps, u as a share of the largest moment


@dataclass(frozen=True)
class Setup:
    """What is tried: the law, its additional damping, and the mixer behind it."""

    law: str = "pd"  # or model
    kappa: float = KAPPA
    mixer: MixerName = "bounded"


def loop_of(
    vehicle: Vehicle, setup: Setup | str, omega_radps: float, noise_deg: float = 0.0, seed: int = 0
) -> AttitudeLoop:
    """With the calibrated latency and lag; a setup, or the name of a law."""
    chosen = Setup(setup) if isinstance(setup, str) else setup
    noise: dict[str, Any] = {"noise_deg": noise_deg, "seed": seed, "mixer": mixer(vehicle, chosen.mixer)}
    if chosen.law == "pd":
        pd = PdLaw(vehicle, attitude_gains(vehicle, omega_radps, chosen.kappa))
        return AttitudeLoop(vehicle, pd, LoopTiming(), **noise)
    return AttitudeLoop(vehicle, ModelBasedLaw(vehicle, omega_radps), LoopTiming(), predict=True, **noise)


def step_run(vehicle: Vehicle, setup: Setup | str, omega_radps: float, duration_s: float = 9.0) -> Response:
    """A quarter turn in yaw; the model-based law through its filter, the PD without."""
    law = setup if isinstance(setup, str) else setup.law
    ahead_s = LoopTiming().latency_s + LoopTiming().thruster_lag_s
    wanted = step_to(QUARTER_TURN) if law == "pd" else filtered_step_to(QUARTER_TURN, omega_radps, ahead_s)
    return loop_of(vehicle, setup, omega_radps).run(wanted, duration_s)


def step(vehicle: Vehicle, setup: Setup | str, omega_radps: float, duration_s: float = 9.0) -> Step:
    """The figures of `step_run`."""
    found = step_run(vehicle, setup, omega_radps, duration_s)
    return Step(omega_radps, overshoot(found), settling_s(found))


def linear_step(vehicle: Vehicle, omega_radps: float, times_s: Array) -> Array:
    """The LTI reference's answer (T,) to a unit step: the inverse Laplace transform of H_L(s)/s (5.22)."""
    return np.asarray(signal.step(closed_loop(vehicle, omega_radps), T=times_s)[1])


def linear_frequency(vehicle: Vehicle, omega_radps: float, at_radps: Array) -> Array:
    """H_L(jω) (F,), complex (C.1, C.2)."""
    return np.asarray(signal.freqs(*closed_loop(vehicle, omega_radps), worN=at_radps)[1])


def linear_settling_s(vehicle: Vehicle, omega_radps: float) -> float:
    """±5 % of the LTI reference."""
    times_s = np.linspace(0.0, 12.0, 6001)
    outside = np.flatnonzero(np.abs(linear_step(vehicle, omega_radps, times_s) - 1) > 0.05)
    return float(times_s[outside[-1]])


def sine(amplitude_rad: float, omega_radps: float) -> Callable[[float], WantedAttitude]:
    """In yaw, with its rate and acceleration."""

    def wanted(t_s: float) -> WantedAttitude:
        s, c, w = np.sin(omega_radps * t_s), np.cos(omega_radps * t_s), omega_radps
        axis = np.array([0.0, 0.0, amplitude_rad])
        return WantedAttitude(axis * s, axis * w * c, -axis * w * w * s)

    return wanted


def frequency(vehicle: Vehicle, law: Setup | str, omega_radps: float, at_radps: float) -> tuple[float, float]:
    """Gain and phase (rad, below zero: behind) of yaw for a sine of 30°, from the first harmonic of five periods."""
    period_s = 2 * np.pi / at_radps
    skipped_s = max(6.0, 2 * period_s)
    found = loop_of(vehicle, law, omega_radps).run(sine(np.radians(30), at_radps), skipped_s + 5 * period_s)
    late = found.times_s > skipped_s
    basis = np.exp(-1j * at_radps * found.times_s[late])
    answer = 2 * np.mean(found.angles_rad[late, 2] * basis) / (-1j * np.radians(30))
    return float(abs(answer)), float(np.angle(answer))


def dive(
    vehicle: Vehicle, course: Dive, law: Setup | str, omega_radps: float, preview_s: float = 0.0, seed: int = 0
) -> Tracking:
    """Angles held by the law, forces by the pilot; noise of 0.5° and 0.5 °/s. `preview_s`: known so far ahead."""
    loop, largest = loop_of(vehicle, law, omega_radps, 0.5, seed), largest_wrench(vehicle)
    found = loop.run(
        lambda t: course.wanted(t + preview_s), course.duration_s, lambda t: largest[:3] * course.effort(t)
    )
    wanted = np.array([course.wanted(t).angles_rad for t in found.times_s])
    error = np.degrees((found.angles_rad - wanted + np.pi) % (2 * np.pi) - np.pi)
    h = LoopTiming().period_s
    effort = np.abs(np.clip(found.moments_Nm / largest[3:], -1, 1)).sum(axis=0)
    return Tracking(np.sqrt(np.mean(error**2, axis=0)), h * np.abs(error).sum(axis=0), effort)


def square_law(plant: Vehicle, largest: Array) -> Callable[[Array], Array]:
    """ArduSub's old mixer into its old simulator: signs, a dead zone of 25 µs, and thrust by the signal's square."""

    def by_square(wrench: Array) -> Array:
        out = (heuristic(plant, np.clip(wrench / largest, -1, 1)) - 1500.0) / 400.0
        out = np.where(np.abs(out) < 25.0 / 400.0, 0.0, out)
        return np.where(out > 0, plant.input_max_N, -plant.input_min_N) * out * np.abs(out)

    return by_square


def normalised_error(found: Response, truth: Response) -> float:
    """(5.25): (1/T) ∫ |ψ − ψ_tank| / ψ_tank dt over the window, from where the tank's has passed 1°."""
    moved = truth.angles_rad[:, 2] > np.radians(1)
    apart = np.abs(found.angles_rad[moved, 2] - truth.angles_rad[moved, 2])
    return float(np.sum(apart / truth.angles_rad[moved, 2]) / len(moved))


@dataclass(frozen=True)
class Comparison:
    """A column of Table 5.1's form."""

    omega_radps: float
    old: float  # normalised error of ArduSub's old simulator with its mixer
    new: float  # … of the vehicle's own model
    tank_settling_s: float  # of what stands in for the tank


def old_and_new(
    vehicle: Vehicle, omegas: Sequence[float], tank: LoopTiming = TANK, tank_damping: float = TANK_DAMPING
) -> list[Comparison]:
    """A yaw step of 5 s in the old simulator, in the new one and in a stand-in for the tank (form of Table 5.1)."""
    old = load_vehicle("ardusub_sitl")
    columns = []
    for omega in omegas:
        law = PdLaw(vehicle, attitude_gains(vehicle, omega))
        runs = [
            AttitudeLoop(vehicle, law, tank, plant=vehicle.scaled(damping=tank_damping)),
            AttitudeLoop(vehicle, law, OLD_TIMING, plant=old, mixer=square_law(old, largest_wrench(vehicle))),
            AttitudeLoop(vehicle, law, LoopTiming()),
        ]
        truth, crude, new = (loop.run(step_to(QUARTER_TURN), 5.0) for loop in runs)
        errors = normalised_error(crude, truth), normalised_error(new, truth)
        columns.append(Comparison(omega, *errors, settling_s(truth)))
    return columns
