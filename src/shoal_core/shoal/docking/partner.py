"""Where the partner will be, in our own navigation: its published plan, moved to where the camera sees it.

Two navigations differ by a constant that would go straight into the dock. The difference between what is seen and
what the plan says of the same instant is filtered slowly and added to the whole plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.estimation.relative_pose import OdometryNoise, RelativePose
from shoal.frames import from_yaw, matrix, multiply, yaw_of
from shoal.messages.docking import DockingWord
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.relative_pose import FiducialPose
from shoal.messages.state import ATTITUDE, POSITION, TWIST

Array = NDArray[np.float64]
SETTLE_S = 0.3  # of the difference between two navigations
TOLD_S = 4.0  # what the partner sees of us counts for so long, while we see nothing of it
VIEW_S = 1.0  # sightings of that time make the view
SPAN_S = 0.1  # over which a plan's velocity is read
FRESH_S = 1.5  # a sighting carries the relative pose for so long; by a plan's velocities alone it drifts off after that
KEPT_M = 0.3  # one sigma (three axes) below which the difference is worth keeping while nothing is seen
NOISE = OdometryNoise(velocity_mps=0.03, rate_radps=0.02)  # the partner's velocity is a planned one


@dataclass(frozen=True)
class Relative:
    """Both states (13,) in one frame, for the geometry between them."""

    own: Array
    other: Array


class PartnerTrack:
    """Of one partner."""

    def __init__(self, marker_m: Array) -> None:
        """`marker_m` (3,): the fiducial's place on the partner."""
        self._marker_m = marker_m
        self._filter = RelativePose(marker_m, NOISE)
        self._waiting: list[FiducialPose] = []
        self._off_m: Array | None = None  # (3,) seen − planned
        self._off_rad = 0.0
        self._last_s = self._seen_s = -math.inf
        self._glimpses: list[tuple[float, float]] = []  # exposures, and one over the variance of each
        self._told: tuple[float, DockingWord] | None = None  # the partner's word, and the stamp of its plan
        self._turned: tuple[float, Array, Array] | None = None  # by its word: angle, about our place, and to where
        self.view_pm = 0.0  # how sharply we see the partner: one over the standard deviation of a second's sightings
        self._sigma_m = math.inf  # of the filter's position, when the difference was taken last

    @property
    def seen_s(self) -> float:
        """Of the newest sighting that was believed."""
        return self._seen_s

    def on_sighting(self, sighting: FiducialPose) -> None:
        """Used with the next step."""
        self._waiting.append(sighting)

    def hear(self, word: DockingWord, stamp_s: float) -> None:
        """What the partner sees of us."""
        self._told = (stamp_s, word) if word.off_m is not None else self._told

    @property
    def off(self) -> tuple[Array, float] | None:
        """(3,) and heading: where the partner is seen less where its plan says; None: it is not seen."""
        return None if self._off_m is None or self.view_pm == 0.0 else (self._off_m, self._off_rad)

    def step(self, own: Odometry, plan: Plan) -> None:
        """On to the time of our own estimate."""
        t_s, twist = own.stamp_s, own.state[TWIST]
        other = planned_twist(plan, t_s)
        self._filter.move(t_s, twist, other)
        for sighting in self._waiting:
            if t_s - sighting.stamp_s <= FRESH_S:  # an older one says where the partner was
                self._filter.see(sighting, twist, other)
            self._glimpses.append((sighting.stamp_s, 3.0 / float(np.trace(sighting.covariance[:3, :3]))))
        self._waiting.clear()
        self._glimpses = [glimpse for glimpse in self._glimpses if t_s - glimpse[0] <= VIEW_S]
        self.view_pm = math.sqrt(sum(sharpness for _, sharpness in self._glimpses))
        self._turned = self._by_word(own)
        if not self._filter.known:
            return
        self._seen_s = float(self._filter.seen_s)
        if t_s - self._seen_s > FRESH_S:
            self._lose_sight()
            return
        self._sigma_m = math.sqrt(float(np.trace(self._filter.covariance[:3, :3])))
        place_m = own.state[POSITION] + matrix(own.state[ATTITUDE]) @ self._filter.position_m
        yaw = yaw_of(multiply(own.state[ATTITUDE], self._filter.attitude))
        off_m = place_m - plan.at(np.array([t_s]))[0]
        off_rad = _wrapped(yaw - float(headings_at(plan, np.array([t_s]))[0]))
        if self._off_m is None or t_s - self._last_s > 2.0:
            self._off_m, self._off_rad = off_m, off_rad
        else:
            share = 1.0 - math.exp(-max(0.0, t_s - self._last_s) / SETTLE_S)
            self._off_m = self._off_m + share * (off_m - self._off_m)
            self._off_rad += share * _wrapped(off_rad - self._off_rad)
        self._last_s = t_s

    def _lose_sight(self) -> None:
        """Both navigations go on from here: what they differ by is constant, what was dead-reckoned is not."""
        self._filter = RelativePose(self._marker_m, NOISE)
        if self._sigma_m > KEPT_M:  # a glimpse from far away
            self._off_m, self._off_rad = None, 0.0

    def _by_word(self, own: Odometry) -> tuple[float, Array, Array] | None:
        """We see nothing, and the partner tells what it sees: its navigation, turned into ours about our place."""
        told, t_s = self._told, own.stamp_s
        if told is None or t_s - told[0] > TOLD_S or t_s - self._seen_s <= FRESH_S or told[1].off_m is None:
            return None
        return -told[1].off_rad, own.state[POSITION] + np.array(told[1].off_m), own.state[POSITION]

    def corrected(self, plan: Plan) -> Plan:
        """As seen from our own navigation."""
        if self._turned is not None:
            angle, about, to = self._turned
            turn = matrix(from_yaw(angle))
            positions, velocities = (plan.positions_m - about) @ turn.T + to, plan.velocities_mps @ turn.T
            headings = None if plan.headings_rad is None else plan.headings_rad + angle
            return replace(plan, positions_m=positions, velocities_mps=velocities, headings_rad=headings)
        if self._off_m is None:
            return plan
        headings = None if plan.headings_rad is None else plan.headings_rad + self._off_rad
        return replace(plan.shifted(0.0, self._off_m, plan.margin_m), headings_rad=headings)

    def relative(self, own: Odometry, plan: Plan) -> Relative:
        """Now: by sight, and where there is none by both navigations; `plan` as `corrected` makes it."""
        if self._filter.known:
            mine, other = np.zeros(13), np.zeros(13)
            mine[3], mine[TWIST] = 1.0, own.state[TWIST]
            other[POSITION], other[ATTITUDE] = self._filter.position_m, self._filter.attitude
            return Relative(mine, other)
        other = np.zeros(13)
        when = np.array([own.stamp_s])
        other[POSITION], other[ATTITUDE] = plan.at(when)[0], from_yaw(float(headings_at(plan, when)[0]))
        return Relative(own.state, other)


def headings_at(plan: Plan, times_s: Array) -> Array:
    """(M,) of a plan with headings; the first and the last go on."""
    if plan.headings_rad is None:
        return np.zeros(len(times_s))
    return np.interp(times_s, plan.times_s, plan.headings_rad)


def planned_twist(plan: Plan, t_s: float) -> Array:
    """(6,) body velocities by a plan, level."""
    places = plan.at(np.array([t_s, t_s + SPAN_S]))
    yaws = headings_at(plan, np.array([t_s, t_s + SPAN_S]))
    velocity = matrix(from_yaw(float(yaws[0]))).T @ (places[1] - places[0]) / SPAN_S
    return np.array([*velocity, 0.0, 0.0, (yaws[1] - yaws[0]) / SPAN_S])


def _wrapped(angle: float) -> float:
    return math.remainder(angle, 2 * math.pi)
