"""What is known of the neighbours: their plans, and their odometry where a plan is missing or old."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.estimation.relative_position import RelativePosition
from shoal.fleet.hazards import Hazard, hazard_of
from shoal.fleet.plan_stream import AHEAD_S, PlanStream
from shoal.frames import matrix, yaw_of
from shoal.messages.echo import Echo
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.scan import Scan
from shoal.messages.state import ATTITUDE, POSITION

Array = NDArray[np.float64]
VIEW_DEG, VIEW_M = 45.0, (0.5, 8.0)  # from the bow, and how far: where nobody in clear water is overlooked
GONE_LOOKS = 20  # in a row
ECHO_S = 0.5  # between two echoes to a neighbour
FIRST_ECHOES = 10  # each with the next plan, so that clocks are known soon


class NeighbourTable:
    """Newest first: a message that was overtaken on its way is dropped. All times are in our own clock."""

    def __init__(self, me: str, others: Iterable[str], fallback_s: float, lost_s: float) -> None:
        """`fallback_s`: odometry counts when a plan is older; 0: never. `lost_s`: silence to complain of."""
        self.others = tuple(others)
        self._me = me
        self._fallback_s, self._lost_s = fallback_s, lost_s
        self._all = self.others
        self._mates: dict[str, tuple[str, ...]] = {}  # whom each is joined to: they send one plan
        self._ours: frozenset[str] = frozenset()  # joined to us, or about to be: no neighbours
        self.clear()

    def clear(self) -> None:
        """The clock went back: all stamps are void."""
        self._streams = {name: PlanStream(self._me) for name in self._all}
        self._plans: dict[str, Plan] = {}
        self._odometry: dict[str, Odometry] = {}
        self._relative: dict[str, RelativePosition] = {}
        self._shifted: dict[str, tuple[Plan, Plan]] = {}  # as received, and as seen
        self._missed: dict[str, int] = {}  # looks at the place of a silent one in which it was not there
        self._echoed: dict[str, tuple[int, float]] = {}  # how often, and when last
        self._began_s: float | None = None
        self._silent_from_s = -math.inf  # until then nobody can have been silent for too long

    def set_groups(self, groups: Sequence[Sequence[str]], partners: Sequence[Sequence[str]] = ()) -> None:
        """Who moves as one, and who may come closer than the limits say; of the latter we heed nothing either."""
        near = {name for group in (*groups, *partners) if self._me in group for name in group if name != self._me}
        mates = {name: tuple(m for m in group if m != name) for group in groups for name in group}
        changed = (near ^ self._ours) | (mates.keys() ^ self._mates.keys())
        self._mates, self._ours = mates, frozenset(near)
        self.others = tuple(name for name in self._all if name not in near)
        for name in changed:  # what was known of it was of another body
            self.forget(name)
        if changed:
            self._began_s, self._silent_from_s = None, -math.inf

    def add_plan(self, plan: Plan, now_s: float) -> None:
        """A plan that has just come; one that cannot be computed with never replaces one that can."""
        stream = self._streams.get(plan.vehicle)
        if stream is None or plan.vehicle in self._ours or not plan.is_valid or not math.isfinite(plan.stamp_s):
            return
        for mate in self._mates.get(plan.vehicle, ()):  # who speaks, speaks for the group
            self._plans.pop(mate, None)
        if stream.plan is None:
            self._silent_from_s = -math.inf  # the first may be older than our beginning
        if stream.take(plan, now_s) and stream.plan is not None:
            self._plans[plan.vehicle] = stream.plan

    def add_odometry(self, name: str, odometry: Odometry, now_s: float) -> None:
        """A neighbour's own odometry; what is not finite, or absurdly stamped, never replaces what is good."""
        stream = self._streams.get(name)
        if not odometry.is_finite or stream is None or name in self._ours:
            return
        if stream.clock.skew_s != 0.0:
            odometry = Odometry(odometry.stamp_s + stream.clock.skew_s, odometry.state)
        last = self._odometry.get(name)
        if odometry.stamp_s <= now_s + AHEAD_S and (last is None or odometry.stamp_s > last.stamp_s):
            self._odometry[name] = odometry

    def echoes(self, t_s: float) -> dict[str, Echo]:
        """What our next plan answers to the others, so that they can compare clocks; often at first, then seldom."""
        found = {}
        for name in self._plans:
            count, last_s = self._echoed.get(name, (0, -math.inf))
            if count < FIRST_ECHOES or t_s - last_s >= ECHO_S:
                self._echoed[name] = count + 1, t_s
                found[name] = self._streams[name].echo(t_s)
        return found

    def skews_s(self) -> dict[str, float]:
        """Neighbours whose clock differs from ours, and what is added to their times."""
        return {name: s.clock.skew_s for name, s in self._streams.items() if s.clock.skew_s != 0.0}

    def known(self, t_s: float) -> dict[str, Plan]:
        """The best of each neighbour at `t_s`; not to be written to."""
        if self._began_s is None:
            self._began_s = t_s
        if not self._odometry and not self._relative:
            return self._plans
        best = dict(self._plans)
        for name in self.without_plan(t_s):
            if (seen := self._odometry.get(name)) is not None:
                best[name] = straight_on(name, seen)
        by_sight = self._by_sight(t_s)
        for name, relative in self._relative.items():
            if name in by_sight:
                best[name] = _as_seen(name, relative)
            elif (plan := best.get(name)) is not None and relative.bias_m is not None:
                best[name] = self._shift(plan, relative, t_s)
        return best

    def _shift(self, plan: Plan, relative: RelativePosition, t_s: float) -> Plan:
        """Once for each plan, however often it is asked for."""
        made = self._shifted.get(plan.vehicle)
        if made is None or made[0] is not plan:
            margin_m = plan.margin_m + relative.margin_m(t_s)
            made = self._shifted[plan.vehicle] = plan, plan.shifted(0.0, relative.bias_m, margin_m)
        return made[1]

    def _by_sight(self, t_s: float) -> list[str]:
        """Those that were seen of late and whose plans are worth nothing: silent, or doubted."""
        return [
            name
            for name, relative in self._relative.items()
            if t_s - relative.seen_s <= self._lost_s
            and (relative.disagreement_m > 0 or t_s - self._streams[name].arrived_s > self._lost_s)
        ]

    def see(self, scan: Scan, own: Array) -> None:
        """A look of the relative sensor from our state (13,)."""
        turn = matrix(own[ATTITUDE])
        for name, to_m in scan.seen_m.items():
            if name in self._streams and name not in self._ours and math.isfinite(float(to_m.sum())):
                plan = self._plans.get(name)
                fresh = plan is not None and scan.stamp_s - self._streams[name].arrived_s <= self._lost_s
                planned_m = plan.at(np.array([scan.stamp_s]))[0] if plan is not None and fresh else None
                relative = self._relative.setdefault(name, RelativePosition())
                relative.see(scan.stamp_s, own[POSITION] + turn @ to_m, planned_m)
        self._look_for_the_silent(scan, own)

    def _look_for_the_silent(self, scan: Scan, own: Array) -> None:
        """One that is not where it was last known, in plain view and again and again, has drifted off."""
        for hazard in self.hazards(scan.stamp_s):
            range_m = float(np.linalg.norm(hazard.place_m - own[POSITION]))
            in_view = sight_angle_deg(own, hazard.place_m) < VIEW_DEG and VIEW_M[0] < range_m < VIEW_M[1]
            if hazard.vehicle in scan.seen_m:
                self._missed[hazard.vehicle] = 0
            elif in_view:
                self._missed[hazard.vehicle] = self._missed.get(hazard.vehicle, 0) + 1
                if self._missed[hazard.vehicle] >= GONE_LOOKS:
                    self.forget(hazard.vehicle)

    def doubted(self) -> dict[str, float]:
        """Neighbours whose plan is not where they are seen, and by how much."""
        return {name: off_m for name, r in self._relative.items() if (off_m := r.disagreement_m) > 0}

    def repeating(self) -> list[str]:
        """Neighbours whose plans only repeat an earlier one; they count as silent."""
        return [name for name in self.others if self._streams[name].repeats]

    def stale(self, t_s: float) -> list[str]:
        """Neighbours whose plan is too old, or missing: their odometry is wanted."""
        if self._fallback_s <= 0:
            return []
        return [n for n in self.others if t_s - self._heard_s(n, -math.inf) > self._fallback_s]

    def without_plan(self, t_s: float) -> list[str]:
        """Those of the stale ones whose odometry is newer than their plan, or who have none; and those only seen."""
        found = self._by_sight(t_s) if self._relative else []
        for name in self.stale(t_s):
            seen, plan = self._odometry.get(name), self._plans.get(name)
            if plan is None or (seen is not None and seen.stamp_s > plan.stamp_s):
                found.append(name)
        return found

    def lost(self, t_s: float) -> dict[str, float]:
        """Neighbours that have sent no plan for `lost_s`, and for how long."""
        if t_s <= self._silent_from_s:
            return {}
        began = t_s if self._began_s is None else self._began_s
        heard_s = {n: self._heard_s(n, began) for n in self.others}
        self._silent_from_s = min(heard_s.values(), default=t_s) + self._lost_s  # stamps only ever grow
        return {n: t_s - heard for n, heard in heard_s.items() if t_s - heard > self._lost_s}

    def hazards(self, t_s: float) -> tuple[Hazard, ...]:
        """Where neighbours are of whom nothing has come for `lost_s`; by arrival, a slow link is not silence."""
        found = []
        for name, plan in self._plans.items():
            stream = self._streams[name]
            if t_s - stream.arrived_s <= self._lost_s:
                continue
            newest, since_s = plan, stream.arrived_s
            if (relative := self._relative.get(name)) is not None and relative.seen_s > since_s:
                newest, since_s = _as_seen(name, relative), relative.seen_s
            if (seen := self._odometry.get(name)) is not None and seen.stamp_s > plan.stamp_s:
                newest, since_s = straight_on(name, seen), max(since_s, seen.stamp_s)
            if t_s - since_s > self._lost_s:
                found.append(hazard_of(newest, since_s))
        return tuple(found)

    def forget(self, name: str) -> None:
        """By order: what was known of it is void until it is heard of again."""
        self._plans.pop(name, None)
        self._odometry.pop(name, None)
        self._relative.pop(name, None)
        self._missed.pop(name, None)

    def _heard_s(self, name: str, began_s: float) -> float:
        plans = [p for n in (name, *self._mates.get(name, ())) if (p := self._plans.get(n)) is not None]
        return max((p.stamp_s for p in plans), default=began_s)


def _as_seen(name: str, relative: RelativePosition) -> Plan:
    """The plan of one who is only seen: on with the velocity it was seen to have."""
    stamp_s, place_m = relative.seen_s, relative.place_m[None].copy()
    return Plan(name, 0, stamp_s, np.array([stamp_s]), place_m, relative.velocity_mps[None], committed=False)


def straight_on(name: str, odometry: Odometry) -> Plan:
    """The plan of one who sends none: on with its velocity."""
    velocity = matrix(odometry.attitude / np.linalg.norm(odometry.attitude)) @ odometry.velocity_mps
    stamp, here, heading = odometry.stamp_s, odometry.position_m[None].copy(), np.array([yaw_of(odometry.attitude)])
    return Plan(name, 0, stamp, np.array([stamp]), here, velocity[None], committed=False, headings_rad=heading)
