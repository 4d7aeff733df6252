"""A vehicle's numbers against recorded motion: logged commands through the model in free runs of some seconds.

One-step errors flatter every model. From a measured state the model runs freely for 5–8 s, and its velocities are
compared with the measured ones: RMSE, R², Pearson's r, and the mean distance after warping (reported, not decided by:
it separates models less than the RMSE does).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import compiled
from shoal.errors import ShoalError
from shoal.identification.dtw import warp
from shoal.identification.fit import Fit
from shoal.identification.free_run import with_tilt
from shoal.identification.measured_point import POINT, seen_from
from shoal.identification.motion_data import MotionData
from shoal.identification.thrust_model import ThrustTiming, force_sensitivities
from shoal.messages.state import ATTITUDE
from shoal.vehicles.description import AXES, Vehicle
from shoal.vehicles.dynamics import Dynamics, normalised, rk4
from shoal.vehicles.parameters import Structure, parameter_vector, structure_of

Array = NDArray[np.float64]
COMPARED = (0, 1, 2, 5)  # surge, sway, heave, yaw
FREE_RUN_S = 5.0  # for the page of a fit, whose held-out part may be short
TEST_RUN_S = 8.0  # over whole recordings
RUN_IN_S = 1.0  # before a window: the force of earlier commands has to be known
WARP_S, GOOD_R2, MOVED = 0.5, 0.8, 1.0  # widest warp; a good model; sigmas of speed below which an axis was at rest


@dataclass(frozen=True)
class Replay:
    """A model with all that turns logged commands into force."""

    name: str
    vehicle: Vehicle
    timing: ThrustTiming
    gains: Array  # (n,) with the common scale in them
    sag: float = 0.0
    current_mps: Array = field(default_factory=lambda: np.zeros(3))
    point_m: Array = field(default_factory=lambda: np.zeros(3))  # of the body, that the odometry is of

    def forces(self, data: MotionData) -> Array:
        """(T,S,n) mean over the parts of each step."""
        dead_band = np.array([t.dead_band_N for t in self.vehicle.thrusters])
        return self.gains * force_sensitivities(data.thrust_N, data.step_s, self.timing, dead_band, self.sag)[0]


def replay_of_vehicle(vehicle: Vehicle, name: str = "", delay_s: float = 0.05) -> Replay:
    """As its file describes it."""
    timing = ThrustTiming(float(np.mean(vehicle.input_lag_s)), delay_s)
    return Replay(name or vehicle.parameter_set, vehicle, timing, np.ones(vehicle.input_count))


def replay_of_fit(found: Fit, name: str = "identified") -> Replay:
    """With all that was found, of the thrusters and the water as well."""
    known = {u.name: float(v) for u, v in zip(found.unknowns, found.values, strict=True)}
    gains = np.array([known[f"gain of {n}"] for n in found.vehicle.input_names]) * known.get("thrust scale", 1.0)
    current = np.array([known.get("current north", 0.0), known.get("current east", 0.0), 0.0])
    timing = ThrustTiming(known["thruster lag"], known["delay"])
    point = np.array([known.get(name, 0.0) for name in POINT])
    return Replay(name, found.vehicle, timing, gains, known.get("sag", 0.0), current, point)


@dataclass(frozen=True)
class AxisScore:
    """Of one axis over all windows; one that hardly moved has no score that means anything."""

    axis: str
    moved: bool
    rmse: float  # m/s or rad/s
    r2: float
    pearson: float
    warped: float  # mean distance after warping, m/s or rad/s


@dataclass(frozen=True)
class Validation:
    """One parameter set against all recordings."""

    name: str
    axes: tuple[AxisScore, ...]
    position_rms_m: float  # at the windows' ends
    times_s: Array  # (K+1,) within a window
    predicted: Array  # (W,K+1,13)
    measured: Array  # (W,K+1,13)

    @property
    def mean_r2(self) -> float:
        """Of the axes that moved."""
        return float(np.mean([a.r2 for a in self.axes if a.moved])) if any(a.moved for a in self.axes) else float("nan")

    @property
    def poor(self) -> tuple[str, ...]:
        """Axes that the model does not follow."""
        return tuple(a.axis for a in self.axes if a.moved and not a.r2 >= GOOD_R2)


def validate_replay(
    replay: Replay, data: Sequence[MotionData], window_s: float = TEST_RUN_S, tilt_measured: bool = False
) -> Validation:
    """Free runs over windows that follow each other; none crosses a gap. `tilt_measured`: see `free_runs`."""
    runs = [found for d in data if (found := free_runs(replay, d, window_s, tilt_measured)) is not None]
    if not runs:
        raise ShoalError(
            f"{data[0].source}: no stretch of {RUN_IN_S + window_s:g} s; expected longer motion, or a shorter --window"
        )
    step_s = data[0].step_s
    predicted, measured = np.concatenate([r[0] for r in runs]), np.concatenate([r[1] for r in runs])
    sigma = 1 / data[0].noise.weights[6:]
    axes = tuple(_score(i, predicted[..., 7 + i], measured[..., 7 + i], step_s, float(sigma[i])) for i in COMPARED)
    off = np.linalg.norm(predicted[:, -1, :3] - measured[:, -1, :3], axis=1)
    times_s = np.arange(predicted.shape[1], dtype=np.float64) * step_s
    return Validation(replay.name, axes, float(np.sqrt(np.mean(off**2))), np.asarray(times_s), predicted, measured)


def free_runs(
    replay: Replay, data: MotionData, window_s: float, tilt_measured: bool = False
) -> tuple[Array, Array] | None:
    """Predicted and measured states (W,K+1,13) of one piece; None if it is too short.

    `tilt_measured`: roll and pitch are taken from the log, not predicted.
    """
    data.check()
    if data.thrust_N.shape[1] != replay.vehicle.input_count:
        raise ShoalError(
            f"{data.source}: {data.thrust_N.shape[1]} thrusters; expected the {replay.vehicle.input_count} "
            f"of {replay.vehicle.name}"
        )
    steps, first = round(window_s / data.step_s), round(RUN_IN_S / data.step_s)
    starts = list(range(first, len(data.states) - steps, steps))
    if not starts:
        return None
    forces = replay.forces(data)
    measured = np.array([data.states[k : k + steps + 1] for k in starts])
    pushes = np.array([forces[k : k + steps] for k in starts])
    structure = structure_of(replay.vehicle)
    theta = parameter_vector(replay.vehicle, structure)
    parts = pushes.shape[2]
    step, count = _step(structure), len(starts)
    step = step.map(count) if count > 1 else step
    predicted = np.empty_like(measured)
    measured = seen_from(measured, -replay.point_m)  # of the origin
    predicted[:, 0] = measured[:, 0]
    currents, thetas = np.tile(replay.current_mps[:, None], (1, count)), np.tile(theta[:, None], (1, count))
    dts = np.full((1, count), data.step_s / parts)
    for k in range(steps):
        state = predicted[:, k].T
        for part in range(parts):
            state = np.array(step(state, pushes[:, k, part].T, currents, thetas, dts))
        predicted[:, k + 1] = with_tilt(state.T, measured[:, k + 1])[0] if tilt_measured else state.T
    return seen_from(predicted, replay.point_m), seen_from(measured, replay.point_m)


@lru_cache(maxsize=8)
def _step(structure: Structure) -> ca.Function:
    """(x13, force n, current 3, theta, dt) → x⁺."""
    dynamics = Dynamics(structure)
    x, force, current = ca.SX.sym("x", 13), ca.SX.sym("force", structure.thruster_count), ca.SX.sym("current", 3)
    theta, dt = ca.SX.sym("theta", structure.length), ca.SX.sym("dt")
    p = structure.split(theta)
    tau = dynamics.wrench(p, force)
    moved = normalised(rk4(lambda y: dynamics.quaternion_ode(p, y, tau, current), x, dt))
    return compiled(ca.Function("validation_step", [x, force, current, theta, dt], [moved]))


def _score(axis: int, predicted: Array, measured: Array, step_s: float, sigma: float) -> AxisScore:
    off = predicted - measured
    spread = float(np.sum((measured - measured.mean()) ** 2))
    both = predicted.std() > 0 and measured.std() > 0
    pearson = float(np.corrcoef(predicted.ravel(), measured.ravel())[0, 1]) if both else float("nan")
    thin = max(1, round(0.1 / step_s))  # a tenth of a second is fine enough for warping
    warped = warp(predicted[:, ::thin], measured[:, ::thin], max(1, round(WARP_S / (step_s * thin))), slope=True)
    return AxisScore(
        AXES[axis],
        moved=bool(measured.std() > MOVED * sigma),
        rmse=float(np.sqrt(np.mean(off**2))),
        r2=1 - float(np.sum(off**2)) / spread if spread > 0 else float("nan"),
        pearson=pearson,
        warped=float(warped.mean.mean()),
    )


def tilt_off_rad(validation: Validation) -> float:
    """RMS angle between predicted and measured attitude over all windows: how much of the rest comes from tilt."""
    q_p, q_m = validation.predicted[..., ATTITUDE], validation.measured[..., ATTITUDE]
    near = np.clip(np.abs(np.sum(q_p * q_m, axis=-1)), 0, 1)
    return float(np.sqrt(np.mean((2 * np.arccos(near)) ** 2)))
