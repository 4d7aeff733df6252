"""Docking by shared plans: the follower's reference is the leader's plan, plus the port's offset, plus a separation.

No inner iterations and no prices: each vehicle optimises once a step, with the other's plan as it was last heard. Both
correct that plan by what their camera sees, and both keep the other's marker in their camera's cone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.docking.partner import PartnerTrack, Relative, headings_at
from shoal.docking.phases import DockingPhases, DockingSettings, Phase, Seen
from shoal.docking.side import Side
from shoal.docking.yielding import Yielding
from shoal.errors import ShoalError
from shoal.frames import from_yaw, matrix, rotation_matrix, tilt_rad, yaw_of
from shoal.messages.directive import ALONE, Directive, Partner, View
from shoal.messages.docking import DockingFeedback, DockingOrder, DockingWord
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.relative_pose import FiducialPose
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.ports import Port, PortCamera, mated_attitude, mating

Array = NDArray[np.float64]
GRID_S = np.arange(0.0, 3.05, 0.1)  # of the reference, from now on
# Inside the true cone, soft and hard. The leader turns for the follower only before it would lose it, and by where that
# is now: two that both turn after the other's plan go round in circles.
FOLLOWER_DEG, LEADER_DEG = (7.0, 3.0), (1.5, 0.5)
LEADER_TURNS_DEG = 4.0  # inside the true cone: nearer to the axis the leader cares for its own heading alone
NEAR = 0.85, 0.75  # soft and hard distance between the origins, as shares of that when latched
WATCHED, WATCHED_M = "watched place", (0.8, 0.6)  # its name among the neighbours; how near it may be, soft and hard
WATCHED_INSIDE_DEG = 10.0, 7.0  # of the true cone, soft and hard: 20 cm of navigation are 6° at 2 m
LOOK_S = 1.0  # a vehicle that has parted waits for its camera before it leaves, at most
WATCHED_DEG = 10.0  # beyond the cone: further off, a camera does not turn its vehicle round


def bearing_deg(own: Port, own_state: Array, other: Port, other_state: Array) -> float:
    """Of the other port's marker off the axis of our port's camera; 0 where there is no camera, or no marker."""
    if own.camera is None or other.marker is None:
        return 0.0
    mark = other_state[POSITION] + matrix(other_state[ATTITUDE]) @ other.marker.place_m
    ray = matrix(own_state[ATTITUDE]).T @ (mark - own_state[POSITION]) - own.camera.place_m
    cosine = float(ray @ own.camera.axis) / max(float(np.linalg.norm(ray)), 1e-9)
    return math.degrees(math.acos(max(-1.0, min(1.0, cosine))))


def level_heading_rad(leader: Port, follower: Port) -> float:
    """The follower's heading less the leader's when latched; both level, or it is refused."""
    turn = mated_attitude(leader, follower)
    if abs(turn[2, 2] - 1.0) > 1e-6:
        raise ShoalError(
            f"docking: port '{follower.name}' on port '{leader.name}' would tilt the follower; "
            "expected ports that latch with both vehicles level"
        )
    return math.atan2(turn[1, 0], turn[0, 0])


class Pilot:
    """What both sides share: where the other is, how near it may come, and what to keep in view."""

    def __init__(self, order: DockingOrder, own: Side, other: Side, yielding: Yielding | None = None) -> None:
        """`yielding`: who moves may change; then `order` is as it is now."""
        self.order, self.own, self.other, self.yielding = order, own, other, yielding
        marker = other.port.marker
        self._uses_camera = not order.blind and marker is not None and own.port.camera is not None
        self.track = PartnerTrack(np.zeros(3) if marker is None else marker.place_m)
        self.relative: Relative | None = None
        leader, follower = (own.port, other.port) if own.name == order.leader else (other.port, own.port)
        turn = mated_attitude(leader, follower)
        latched_m = float(np.linalg.norm(leader.place_m - turn @ follower.place_m))
        self._near_m = NEAR[0] * latched_m, NEAR[1] * latched_m

    def on_sighting(self, sighting: FiducialPose) -> None:
        """What our camera has found."""
        if self._uses_camera:
            self.track.on_sighting(self.other.seen_as(self.own.seen_from(sighting)))

    @property
    def word(self) -> DockingWord | None:
        """None: who moves is not to be changed."""
        if self.yielding is None:
            return None
        view_pm, off = round(self.track.view_pm, 2), self.track.off
        if off is None or not self.yielding.other_blind:
            return DockingWord(self.order.counter, self.yielding.turn, view_pm)
        north, east, down = np.round(off[0], 3).tolist()
        return DockingWord(self.order.counter, self.yielding.turn, view_pm, (north, east, down), round(off[1], 4))

    def _take_in(self, own: Odometry, plans: Mapping[str, Plan]) -> tuple[Plan | None, Mapping[str, Plan]]:
        """The partner's plan as seen from here, and all plans with it."""
        plan = next((plans[name] for name in self.other.senders if name in plans), None)
        if plan is None:
            return None, plans
        if self.yielding is not None and (word := plan.docking) is not None and word.counter == self.order.counter:
            self.yielding.hear(word, plan.stamp_s)
            self.track.hear(word, plan.stamp_s)
        self.track.step(own, plan)
        plan = self.track.corrected(plan)
        self.relative = self.track.relative(own, plan)
        return plan, {**plans, plan.vehicle: plan}

    def _with(self, directive: Directive, partners: Mapping[str, Partner]) -> Directive:
        """Nobody who docks goes back to its place in the formation when its plan has run out: expected there, a
        follower that has come around the leader would be on its way straight through it."""
        away = {name: at for name, at in directive.formation_setpoints.items() if name not in self.other.senders}
        return replace(directive, partners=partners, formation_setpoints=away)

    def _partner(self, t_s: float, plan: Plan, looking: bool) -> Partner:
        """Near limits; in view if `looking`, and if it is near the cone at all."""
        return Partner(*self._near_m, self._view(t_s, plan) if looking else None)

    def _view(self, t_s: float, plan: Plan) -> View | None:
        camera, marker = self.own.port.camera, self.other.port.marker
        if camera is None or marker is None or self.relative is None:
            return None
        off_deg = bearing_deg(self.own.port, self.relative.own, self.other.port, self.relative.other)
        leads = self.own.name == self.order.leader
        if off_deg > camera.half_angle_deg + WATCHED_DEG or (
            leads and off_deg < camera.half_angle_deg - LEADER_TURNS_DEG
        ):
            return None
        yaw = float(headings_at(plan, np.array([t_s]))[0])
        mark_m = matrix(from_yaw(yaw)) @ marker.place_m
        soft_deg, hard_deg = LEADER_DEG if leads else FOLLOWER_DEG
        limits = camera.half_angle_deg - soft_deg, camera.half_angle_deg - hard_deg
        return View(camera.place_m, camera.axis, mark_m, *limits)

    def bearings_deg(self) -> tuple[float, float]:
        """Of the other in our camera, and of us in the other's."""
        if self.relative is None:
            return 0.0, 0.0
        mine, others = self.relative.own, self.relative.other
        return (
            bearing_deg(self.own.port, mine, self.other.port, others),
            bearing_deg(self.other.port, others, self.own.port, mine),
        )


class LeaderPilot(Pilot):
    """The leader goes on as ordered; it lets the follower come near, and keeps it in view; an inspected place, too."""

    def __init__(
        self,
        order: DockingOrder,
        own: Side,
        other: Side,
        watching: PortCamera | None = None,
        yielding: Yielding | None = None,
    ) -> None:
        """`watching`: the camera that is kept on the order's `watch_m`."""
        super().__init__(order, own, other, yielding)
        self._watching = watching
        self._stays: Preview | None = None  # who has moved, and lets the other come now, stays where it is

    def guide(
        self, t_s: float, own: Odometry, directive: Directive, plans: Mapping[str, Plan]
    ) -> tuple[Directive, Mapping[str, Plan]]:
        plan, plans = self._take_in(own, plans)
        if self.yielding is not None and self.yielding.turn > 0:
            if self._stays is None:
                heading = np.array([yaw_of(own.state[ATTITUDE])])
                self._stays = Preview(np.array([t_s]), own.state[None, POSITION].copy(), np.zeros((1, 3)), heading)
            directive = replace(directive, kind="follow", setpoint=self._stays, must_see=frozenset())
        if plan is None:
            return directive, plans
        partners = {plan.vehicle: self._partner(t_s, plan, looking=self.order.action == "dock")}
        if self._watching is not None:
            # To the optimisation the place is one more neighbour, that stands still.
            standing = np.array(self.order.watch_m)[None]
            plans = {**plans, WATCHED: Plan(WATCHED, 0, t_s, np.array([t_s]), standing, np.zeros((1, 3)))}
            limits = (self._watching.half_angle_deg - margin for margin in WATCHED_INSIDE_DEG)
            view = View(self._watching.place_m, self._watching.axis, np.zeros(3), *limits)
            partners[WATCHED] = Partner(*WATCHED_M, view)
        return self._with(directive, partners), plans


class FollowerPilot(Pilot):
    """The follower comes to the leader's port, or leaves it."""

    def __init__(
        self,
        order: DockingOrder,
        own: Side,
        other: Side,
        settings: DockingSettings | None = None,
        yielding: Yielding | None = None,
    ) -> None:
        super().__init__(order, own, other, yielding)
        self._settings = settings or DockingSettings()
        self._settings = replace(self._settings, lean_ends=not self._uses_camera)
        self._turn_rad = level_heading_rad(other.port, own.port)
        self.phases: DockingPhases | None = None
        self._parted_s: float | None = None
        self.latched = False
        self.seen: Seen | None = None

    @property
    def feedback(self) -> DockingFeedback | None:
        """None: the leader has not been heard of yet."""
        if self.phases is None or self.seen is None:
            return None
        s, p = self.seen, self.phases
        errors = s.gap_m, s.lateral_m, s.angle_deg, s.bearing_deg
        return DockingFeedback(self.order.counter, p.phase.value, *errors, p.tries, p.reason)

    def cancel(self) -> None:
        """Back to the stand-off, and stay there."""
        if self.phases is not None:
            self.phases.cancel()

    def guide(
        self, t_s: float, own: Odometry, directive: Directive, plans: Mapping[str, Plan]
    ) -> tuple[Directive, Mapping[str, Plan]]:
        plan, plans = self._take_in(own, plans)
        if plan is None or self.relative is None or plan.headings_rad is None:
            return directive, plans
        if self._waits(own):
            return self._with(directive, {plan.vehicle: self._partner(t_s, plan, looking=False)}), plans
        seen = self.seen = self._look(own, plan)
        if self.phases is None:
            self.phases = DockingPhases(self._settings, seen.gap_m, self._begin(seen))
        phase = self.phases.step(t_s, seen)
        if self.yielding is not None:
            self.yielding.decide(t_s, self.track.view_pm, phase)
        setpoint = self._reference(t_s, own, plan)
        following = replace(directive, kind="follow", setpoint=setpoint, must_see=frozenset())
        if phase is Phase.SEARCH:  # as between any two vehicles
            return self._with(following, ALONE), plans
        looking = phase not in (Phase.LATCHED, Phase.LEAVE, Phase.CLEAR)
        partner = self._partner(t_s, plan, looking)
        partners = {plan.vehicle: partner}
        return self._with(following, partners), plans

    def _begin(self, seen: Seen) -> Phase:
        """Who takes over does not go back to search for one that it sees."""
        if self.order.action == "undock":
            return Phase.LEAVE
        s, took_over = self._settings, self.yielding is not None and self.yielding.turn > 0
        found = seen.camera_age_s <= s.camera_s and seen.bearing_deg <= s.cone_deg and seen.gap_m > 0
        return Phase.APPROACH if took_over and found else Phase.SEARCH

    def _waits(self, own: Odometry) -> bool:
        """Just parted, each is back in its own navigation, by which the two may be inside each other: a look first."""
        if self.phases is not None or self.order.action != "undock" or not self._uses_camera:
            return False
        self._parted_s = own.stamp_s if self._parted_s is None else self._parted_s
        return not math.isfinite(self.track.seen_s) and own.stamp_s - self._parted_s < LOOK_S

    def _look(self, own: Odometry, plan: Plan) -> Seen:
        assert self.relative is not None
        now = mating(self.other.port, self.relative.other, self.own.port, self.relative.own)
        age_s = own.stamp_s - self.track.seen_s if self._uses_camera else 0.0
        errors = now.closing_m, now.lateral_m, now.angle_deg
        bearing = max(self.bearings_deg())
        tilt_deg = math.degrees(tilt_rad(own.state[ATTITUDE]))
        return Seen(*errors, max(0.0, own.stamp_s - plan.stamp_s), age_s, self.latched, bearing, tilt_deg)

    def _reference(self, t_s: float, own: Odometry, plan: Plan) -> Preview:
        """Over the horizon: the partner's plan, the port's offset, and the separation going on as it does now."""
        assert self.phases is not None
        times_s, s = t_s + GRID_S, self._settings
        places_m, yaws = plan.at(times_s), headings_at(plan, times_s)
        apart_m = self.phases.separation_m + self.phases.rate_mps * GRID_S
        if self.phases.phase is Phase.CLOSE:
            apart_m = np.maximum(apart_m, -s.beyond_m)
        elif self.phases.rate_mps < 0:
            apart_m = np.maximum(apart_m, s.stand_off_m)
        turns, own_yaws = rotation_matrix(from_yaw(yaws)), yaws + self._turn_rad
        leader, follower = self.other.port, self.own.port
        at_port = leader.place_m + apart_m[:, None] * leader.direction  # (M,3) the leader's body
        offset = np.einsum("mij,mj->mi", turns, at_port) - rotation_matrix(from_yaw(own_yaws)) @ follower.place_m
        positions = places_m + offset
        if self.phases.phase is Phase.SEARCH:  # facing the leader, wherever we are
            away = places_m[0] - own.state[POSITION]
            facing = math.atan2(away[1], away[0]) - math.atan2(follower.direction[1], follower.direction[0])
            near = float(np.linalg.norm(positions[0] - own.state[POSITION])) < 1.0
            own_yaws = own_yaws if near else np.full(len(own_yaws), facing)
        velocities = np.gradient(positions, times_s, axis=0)
        return Preview(times_s, positions, velocities, own_yaws)
