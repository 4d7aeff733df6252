"""One neighbour's plans as they arrive: in order and in our clock, after restarts and absurd stamps, too."""

from __future__ import annotations

import math

import numpy as np

from shoal.fleet.clock_skew import ClockSkew
from shoal.messages.echo import Echo
from shoal.messages.plan import Plan

AHEAD_S = 1.0  # a stamp further ahead of its stream is absurd, or the clock was set
LATEST_S = 30.0  # no link is slower; where nobody echoes, such plans come from a clock that is behind
CONFIRMED, CONFIRMED_S = 3, 1.0  # messages, and for how long, that make out-of-order stamps a stream of their own
LEAVES_PLAN_MPS = 0.5  # how far a plan read at the wrong time is wrong
MOVES_M = 0.05  # from a plan's beginning to its end: who stands still may well plan the same again


class _Stamps:
    """Stamps that do not fit the stream: one of them is dropped, several that fit each other are a new stream."""

    def __init__(self, arrived_s: float, stamp_s: float) -> None:
        self._began_s, self._took_s, self._stamp_s, self._count = arrived_s, arrived_s - stamp_s, stamp_s, 1

    def goes_on(self, arrived_s: float, stamp_s: float) -> bool:
        """Whether this one follows the last."""
        if stamp_s <= self._stamp_s or abs(arrived_s - stamp_s - self._took_s) > AHEAD_S:
            return False
        self._stamp_s, self._count = stamp_s, self._count + 1
        return True

    def confirmed(self, now_s: float) -> bool:
        return self._count >= CONFIRMED and now_s - self._began_s >= CONFIRMED_S


class PlanStream:
    """By stamp, not by sequence: a controller that was restarted counts from 1."""

    def __init__(self, me: str) -> None:
        self._me = me
        self.plan: Plan | None = None  # the newest, in our clock
        self.arrived_s = -math.inf
        self.repeats = False  # the newest that came says again what one before it said of an earlier time
        self._stamp_s = -math.inf  # of the newest, in its own clock
        self._sent: Plan | None = None  # the newest as it was sent
        self._odd: _Stamps | None = None
        self.clock = ClockSkew(symmetric=True, latest_s=LATEST_S)

    def take(self, plan: Plan, now_s: float) -> bool:
        """Whether it is the newest."""
        if plan.stamp_s == self._stamp_s:  # the same once more
            return False
        ahead = now_s - plan.stamp_s < self.clock.skew_s - self.clock.uncertain_s - AHEAD_S
        if (ahead or plan.stamp_s < self._stamp_s) and not self._restarted(plan, now_s):
            return False
        self._odd = None
        self.repeats = self._is_repeated(plan)
        if self.repeats:  # a planner that hangs behind a radio that works: nothing was heard of the vehicle
            return False
        self._sent = plan
        self._stamp_s, self.arrived_s = plan.stamp_s, now_s
        clock = self.clock
        clock.message(now_s, plan.stamp_s, plan.heard.get(self._me))
        if clock.skew_s != 0.0:
            plan = plan.shifted(clock.skew_s, margin_m=LEAVES_PLAN_MPS * clock.uncertain_s)
        self.plan = plan
        return True

    def _is_repeated(self, plan: Plan) -> bool:
        """The same places to the last digit at other times, of one who claims to move; noise alone would change them.

        Who follows an old plan for want of a new one sends its times with it.
        """
        last = self._sent
        if last is None or plan.times_s[0] == last.times_s[0] or plan.positions_m[0, 0] != last.positions_m[0, 0]:
            return False
        moves = float(np.abs(plan.positions_m[-1] - plan.positions_m[0]).max()) > MOVES_M
        return moves and np.array_equal(plan.positions_m, last.positions_m)

    def _restarted(self, plan: Plan, now_s: float) -> bool:
        """Overtaken on the way or absurd, or the first of a clock that was set: the ones that follow decide."""
        if self._odd is None or not self._odd.goes_on(now_s, plan.stamp_s):
            self._odd = _Stamps(now_s, plan.stamp_s)
            return False
        if not self._odd.confirmed(now_s):
            return False
        self.clock = ClockSkew(symmetric=True, latest_s=LATEST_S)
        return True

    def echo(self, t_s: float) -> Echo:
        """The answer to its newest plan; only once there is one."""
        return Echo(self._stamp_s, t_s - self.arrived_s)
