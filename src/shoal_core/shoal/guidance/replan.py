"""A new plan for a setpoint that is already moving, without a jump in position, velocity or acceleration.

The plan is a sum: a spline through the new waypoints that sets out with only that part of the velocity which serves it,
and a short transient in which the rest of the motion fades. A spline alone, given the whole velocity, would swing out
the further the longer its first leg is; the sum never strays further than it takes to brake.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.guidance.splines import STRETCHES, MotionLimits, SplinePath, from_derivatives, interpolate

Array = NDArray[np.float64]

SHORTEST_S = 0.1  # of a fading, so that nothing is divided by zero
ROUNDING = 1 + 1e-6  # a setpoint may sit exactly at its limit


@dataclass(frozen=True)
class Motion:
    """Of a point, in NED."""

    position_m: Array  # (3,)
    velocity_mps: Array  # (3,)
    acceleration_mps2: Array  # (3,)


def stop(now: Motion, limits: MotionLimits) -> SplinePath:
    """Brake to rest."""
    if not (now.velocity_mps.any() or now.acceleration_mps2.any()):  # it is there: nothing to search for
        powers = np.zeros((6, 1, 3))
        powers[-1] = now.position_m
        return SplinePath(scipy.interpolate.PPoly(powers, np.array([0.0, SHORTEST_S])))
    allowed = _allowed(now, limits)
    for trial in range(STRETCHES):
        path = _moved(_fade(now.velocity_mps, now.acceleration_mps2, limits, 0.8**trial), now.position_m)
        if np.max(path.excess(allowed)) <= ROUNDING:
            return path
    raise ShoalError(f"setpoint: {now} cannot brake within {limits}; expected a motion within its limits")


def go(now: Motion, waypoints_m: Array, speeds_mps: Array, limits: MotionLimits) -> tuple[SplinePath, Array]:
    """Through waypoints (W,3), each approached at its average speed (W,) or slower; and the times (W,) of arrival."""
    allowed, useful = _allowed(now, limits), _useful_velocity(now, waypoints_m[0], speeds_mps[0])
    slower = 1.0
    for trial in range(STRETCHES):
        # Slower by a factor scales the spline's velocities, its first one too, and leaves more of the motion to fade.
        fading = _fade(now.velocity_mps - useful / slower, now.acceleration_mps2, limits, 0.8**trial)
        drift_m = fading.position(fading.duration_s)
        points = np.vstack([now.position_m + drift_m, waypoints_m])
        legs_s = slower * np.linalg.norm(np.diff(points, axis=0), axis=1) / speeds_mps
        legs_s[0] = max(legs_s[0], fading.duration_s)  # so that waypoints are met by the spline alone: exactly
        knots_s = np.concatenate([[0.0], np.cumsum(legs_s)])
        velocities = np.vstack([useful / slower, np.zeros_like(waypoints_m)])
        path = _sum(interpolate("quintic", knots_s, points, velocities), _moved(fading, -drift_m))
        excess = float(np.max(path.excess(allowed)))
        if excess <= ROUNDING:
            return path, knots_s[1:]
        slower *= max(excess, 1.02)
    raise ShoalError(f"setpoint: no path from {now} within {limits}; expected a motion within its limits")


def _allowed(now: Motion, limits: MotionLimits) -> MotionLimits:
    """A setpoint that is too fast already (limits were lowered, or another hand let it go) may not get faster."""
    return MotionLimits(
        max(limits.speed_mps, float(np.linalg.norm(now.velocity_mps))),
        max(limits.acceleration_mps2, float(np.linalg.norm(now.acceleration_mps2))),
    )


def _useful_velocity(now: Motion, waypoint_m: Array, speed_mps: float) -> Array:
    """The part of the velocity that leads to the waypoint, no more than the wanted speed."""
    toward = waypoint_m - now.position_m
    distance_m = float(np.linalg.norm(toward))
    direction = toward / distance_m if distance_m > 0 else toward
    return direction * min(max(float(now.velocity_mps @ direction), 0.0), speed_mps)


def _fade(velocity_mps: Array, acceleration_mps2: Array, limits: MotionLimits, hurry: float) -> SplinePath:
    """From this motion at the origin to rest.

    Velocity fades at 0.6 of the acceleration limit (a cubic's peak is 1.5 times its mean). Acceleration fades in its
    own, shorter time, or else a setpoint that just gains speed would gain much more: 4/27 of acceleration × time.
    """
    limit = limits.acceleration_mps2
    velocity_s = max(2.5 * float(np.linalg.norm(velocity_mps)) / limit, SHORTEST_S)
    share = float(np.linalg.norm(acceleration_mps2)) / limit
    acceleration_s = max(0.3 * share * limits.speed_mps / limit, SHORTEST_S) * hurry
    zero = np.zeros(3)
    slowing = scipy.interpolate.CubicHermiteSpline(
        [0.0, velocity_s], [velocity_mps, zero], [zero, zero]
    ).antiderivative()
    easing = scipy.interpolate.CubicHermiteSpline(
        [0.0, acceleration_s], [zero, zero], [acceleration_mps2, zero]
    ).antiderivative()
    return _sum(SplinePath(slowing), SplinePath(easing))


def _moved(path: SplinePath, by_m: Array) -> SplinePath:
    powers = path.poly.c.copy()
    powers[-1] += by_m
    return SplinePath(scipy.interpolate.PPoly(powers, path.poly.x))


def _sum(first: SplinePath, second: SplinePath) -> SplinePath:
    """Both motions at once; each rests at its end while the other goes on."""
    knots_s = np.union1d(first.knots_s, second.knots_s)
    knots_s = knots_s[np.append(np.diff(knots_s) > 1e-9, True)]  # equal but for rounding: one

    def derivative(times_s: Array, order: int) -> Array:
        parts = [p.derivative(times_s, order) for p in (first, second)]
        ended = [(times_s > p.duration_s - 1e-9)[:, None] & (order > 0) for p in (first, second)]
        return np.asarray(sum(np.where(over, 0.0, part) for over, part in zip(ended, parts, strict=True)))

    return from_derivatives(knots_s, derivative)
