"""What is known of the neighbours: their plans, and their odometry where a plan is missing or old."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from shoal.frames import matrix
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan

AHEAD_S = 1.0  # a stamp further in the future is from before the clock went back, or absurd


class NeighbourTable:
    """Newest first: a message that was overtaken on its way is dropped."""

    def __init__(self, others: Iterable[str], fallback_s: float, lost_s: float) -> None:
        """`fallback_s`: odometry counts when a plan is older; 0: never. `lost_s`: silence to complain of."""
        self.others = tuple(others)
        self._known = frozenset(self.others)
        self._fallback_s, self._lost_s = fallback_s, lost_s
        self._silent_from_s = -math.inf  # until then nobody can have been silent for too long
        self._plans: dict[str, Plan] = {}
        self._odometry: dict[str, Odometry] = {}
        self._began_s: float | None = None

    def clear(self) -> None:
        """The clock went back: all stamps are void."""
        self._plans.clear()
        self._odometry.clear()
        self._began_s = None
        self._silent_from_s = -math.inf

    def add_plan(self, plan: Plan, now_s: float) -> None:
        """By stamp, not by sequence: a controller that was restarted counts from 1. Absurd stamps are not taken."""
        if plan.vehicle not in self._known or plan.stamp_s > now_s + AHEAD_S or not plan.is_valid:
            return
        last = self._plans.get(plan.vehicle)
        if last is None:
            self._silent_from_s = -math.inf  # the first may be older than our beginning
        if last is None or plan.stamp_s > last.stamp_s:
            self._plans[plan.vehicle] = plan

    def add_odometry(self, name: str, odometry: Odometry, now_s: float) -> None:
        """A neighbour's own odometry; what is not finite, or absurdly stamped, never replaces what is good."""
        last = self._odometry.get(name)
        if not odometry.is_finite or odometry.stamp_s > now_s + AHEAD_S:
            return
        if last is None or odometry.stamp_s > last.stamp_s:
            self._odometry[name] = odometry

    def known(self, t_s: float) -> dict[str, Plan]:
        """The best of each neighbour at `t_s`; not to be written to."""
        if self._began_s is None:
            self._began_s = t_s
        if not self._odometry:
            return self._plans
        best = dict(self._plans)
        for name in self.without_plan(t_s):
            if (seen := self._odometry.get(name)) is not None:
                best[name] = straight_on(name, seen)
        return best

    def stale(self, t_s: float) -> list[str]:
        """Neighbours whose plan is too old, or missing: their odometry is wanted."""
        if self._fallback_s <= 0:
            return []
        return [n for n in self.others if t_s - self._heard_s(n, -math.inf) > self._fallback_s]

    def without_plan(self, t_s: float) -> list[str]:
        """Those of the stale ones whose odometry is newer than their plan, or who have none."""
        found = []
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

    def _heard_s(self, name: str, began_s: float) -> float:
        plan = self._plans.get(name)
        return began_s if plan is None else plan.stamp_s


def straight_on(name: str, odometry: Odometry) -> Plan:
    """The plan of one who sends none: on with its velocity."""
    velocity = matrix(odometry.attitude / np.linalg.norm(odometry.attitude)) @ odometry.velocity_mps
    stamp = odometry.stamp_s
    return Plan(name, 0, stamp, np.array([stamp]), odometry.position_m[None].copy(), velocity[None], committed=False)
