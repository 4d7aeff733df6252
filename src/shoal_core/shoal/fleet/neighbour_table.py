"""What is known of the neighbours: their plans, and their odometry where a plan is missing or old. No ROS."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from shoal.frames import rotation_matrix
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan

AHEAD_S = 1.0  # a stamp further in the future is from before the clock went back


class NeighbourTable:
    """Newest first: a message that was overtaken on its way is dropped."""

    def __init__(self, others: Iterable[str], fallback_s: float, gone_s: float) -> None:
        """`fallback_s`: odometry counts when a plan is older than this; 0: never. `gone_s`: silence to complain of."""
        self.others = tuple(others)
        self._fallback_s, self._gone_s = fallback_s, gone_s
        self._plans: dict[str, Plan] = {}
        self._seen: dict[str, Odometry] = {}
        self._began_s: float | None = None

    def clear(self) -> None:
        """The clock went back: all stamps are void."""
        self._plans.clear()
        self._seen.clear()
        self._began_s = None

    def hear(self, plan: Plan) -> None:
        """A plan has come. By stamp, not by sequence: a controller that was started again counts from 1."""
        last = self._plans.get(plan.vehicle)
        if plan.vehicle in self.others and (last is None or plan.stamp_s > last.stamp_s):
            self._plans[plan.vehicle] = plan

    def see(self, name: str, odometry: Odometry) -> None:
        """A neighbour's odometry has come; what is not a number never replaces what is."""
        last = self._seen.get(name)
        if np.isfinite(odometry.state).all() and (last is None or odometry.stamp_s > last.stamp_s):
            self._seen[name] = odometry

    def known(self, t_s: float) -> dict[str, Plan]:
        """The best of each neighbour at `t_s`."""
        if self._began_s is None:
            self._began_s = t_s
        for stale in (self._plans, self._seen):
            for name in [n for n, item in stale.items() if item.stamp_s > t_s + AHEAD_S]:
                del stale[name]
        best = dict(self._plans)
        for name in self.without_plan(t_s):
            if (seen := self._seen.get(name)) is not None:
                best[name] = straight_on(name, seen)
        return best

    def late(self, t_s: float) -> list[str]:
        """Neighbours whose plan is too old, or missing: their odometry is wanted."""
        if self._fallback_s <= 0:
            return []
        heard = {n: self._heard_s(n, -np.inf) for n in self.others}
        return [n for n, stamp_s in heard.items() if t_s - stamp_s > self._fallback_s]

    def without_plan(self, t_s: float) -> list[str]:
        """Those of the late ones whose odometry is newer than their plan, or who have none."""
        seen = {n: self._seen[n].stamp_s if n in self._seen else -np.inf for n in self.late(t_s)}
        return [n for n, stamp_s in seen.items() if n not in self._plans or stamp_s > self._plans[n].stamp_s]

    def gone(self, t_s: float) -> list[str]:
        """Neighbours that have told no plan for `gone_s`."""
        began = t_s if self._began_s is None else self._began_s
        return [n for n in self.others if t_s - self._heard_s(n, began) > self._gone_s]

    def _heard_s(self, name: str, began_s: float) -> float:
        plan = self._plans.get(name)
        return began_s if plan is None else plan.stamp_s


def straight_on(name: str, odometry: Odometry) -> Plan:
    """The plan of one who tells none: on with its velocity, as far as the agent believes that."""
    velocity = rotation_matrix(odometry.attitude) @ odometry.velocity_mps
    stamp = odometry.stamp_s
    return Plan(name, 0, stamp, np.array([stamp]), odometry.position_m[None].copy(), velocity[None], committed=False)
