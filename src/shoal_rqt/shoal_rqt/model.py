"""Everything the station has heard, and how old it is. No Qt, no ROS: tests and pictures fill it as they like."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.fleet.file import Fleet, load_fleet
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.recordings.recording import Limits
from shoal_rqt import updates as n
from shoal_rqt.judge import TestJudge, Verdict
from shoal_rqt.sight import Sight, angle_and_distance, judge
from shoal_rqt.vehicle_state import Status, VehicleState

Array = NDArray[np.float64]
REPORT_S = 1.0  # of wall time that a controller's own word on a neighbour counts
CLOCK_S = 2.0  # of wall time, then the clock is said to stand
MOST_EVENTS = 200
LIMITS = {  # a controller's parameter → ours
    "limits.sight_hard_deg": "fov_hard_deg", "limits.sight_soft_deg": "fov_soft_deg",
    "limits.distance_hard_m": "distance_hard_m", "limits.distance_soft_m": "distance_soft_m",
}  # fmt: skip


@dataclass(frozen=True)
class Event:
    """A line for the operator."""

    t_s: float | None  # ROS time
    level: int
    text: str


class FleetModel:
    """`take` update, then read. Nothing here grows without bound."""

    def __init__(self, fleet: Fleet | None = None) -> None:
        self.vehicles: dict[str, VehicleState] = {}
        self.limits = Limits()
        self.fleet: Fleet | None = None
        self.t_s: float | None = None
        self.clock_heard_s: float | None = None
        self.mode = ""
        self.test: Mapping[str, Any] = {}
        self.verdicts: deque[Verdict] = deque(maxlen=50)
        self.preview: Preview | None = None
        self.reference_heard_s: float | None = None
        self.slots: Placement | None = None
        self.sight_pairs: tuple[tuple[str, str], ...] = ()
        self.queue_m: Array = np.zeros((0, 3))
        self.current_mps: Array | None = None
        self.stopped = False
        self.nodes: frozenset[str] = frozenset()
        self.stick = False
        self.statuses: dict[str, Status] = {}
        self.events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self._lost: set[str] = set()
        self._judge = TestJudge()
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            n.ClockUpdate: self._clock, n.OdometryUpdate: self._odometry, n.PlanUpdate: self._plan,
            n.ThrustUpdate: self._thrust, n.SightUpdate: self._sight, n.DiagnosticUpdate: self._diagnostic,
            n.ReferenceUpdate: self._reference, n.FormationUpdate: self._formation, n.ModeUpdate: self._mode,
            n.TestUpdate: self._test, n.QueueUpdate: self._queue, n.CurrentUpdate: self._current,
            n.StopUpdate: self._stop,
            n.GraphUpdate: self._graph, n.FactsUpdate: self._facts, n.EventUpdate: self._event,
        }  # fmt: skip
        if fleet is not None:
            self.set_fleet(fleet)

    def take(self, update: n.Update, wall_s: float) -> None:
        """Something was heard."""
        self._handlers[type(update)](update, wall_s)

    def vehicle(self, name: str) -> VehicleState:
        """Known from now on; in the fleet file's order, others behind by name."""
        if name not in self.vehicles:
            self.vehicles[name] = VehicleState(name)
            own = self.fleet.names if self.fleet else ()
            self.vehicles = {k: self.vehicles[k] for k in sorted(
                self.vehicles, key=lambda v: (own.index(v) if v in own else len(own), len(v), v))}  # fmt: skip
        return self.vehicles[name]

    def set_fleet(self, fleet: Fleet) -> None:
        """Limits, thrusters and who there should be."""
        self.fleet = fleet
        self.limits = Limits(fleet.sight.hard_deg, fleet.distance.hard_m, fleet.sight.soft_deg, fleet.distance.soft_m)
        for member in fleet.vehicles:
            self.vehicle(member.name).limit_N = float(np.max(member.vehicle().thrust_max_N))

    # -- what follows from it -----------------------------------------------------------------------------------

    def must_see(self, seer: str, seen: str) -> bool:
        """By the formation."""
        return (seer, seen) in self.sight_pairs

    def sight(self, seer: str, seen: str, wall_s: float) -> Sight:
        """The vehicle's own word while it is fresh, else from both odometries; unknown when one is lost."""
        own, other = self.vehicles[seer], self.vehicles[seen]
        angle: float | None = None
        distance: float | None = None
        if not own.lost(wall_s) and not other.lost(wall_s):
            told = own.reported.get(seen)
            if told is not None and wall_s - told[2] < REPORT_S:
                angle, distance = told[0], told[1]
            if (angle is None or distance is None) and own.odometry is not None and other.odometry is not None:
                computed = angle_and_distance(own.odometry, other.odometry)
                angle = computed[0] if angle is None else angle
                distance = computed[1] if distance is None else distance
        return judge(seen, self.must_see(seer, seen), angle, distance, self.limits)

    def neighbours(self, seer: str, wall_s: float) -> list[Sight]:
        """Those it must see, and those that are too close."""
        found = [self.sight(seer, other, wall_s) for other in self.vehicles if other != seer]
        return [s for s in found if s.must_see or s.distance_keeping or len(self.vehicles) <= 3]

    def clock_stands(self, wall_s: float) -> bool:
        """Was heard, and is not any more. Real vehicles have no such clock."""
        return self.clock_heard_s is not None and wall_s - self.clock_heard_s > CLOCK_S

    def plan_age_s(self, name: str, wall_s: float) -> float | None:
        """Of the plan that was heard last; in wall time when the clock is not simulated or stands."""
        vehicle = self.vehicles[name]
        if vehicle.plan is None or vehicle.plan_heard_s is None:
            return None
        if self.t_s is None or self.clock_stands(wall_s) or self.clock_heard_s is None:
            return wall_s - vehicle.plan_heard_s
        return max(0.0, self.t_s - vehicle.plan.stamp_s)

    # -- what was heard -----------------------------------------------------------------------------------------

    def _clock(self, update: n.ClockUpdate, wall_s: float) -> None:
        if self.t_s is not None and update.t_s < self.t_s - 1.0:
            self._say(0, "the clock went back: a new run")
            for vehicle in self.vehicles.values():
                vehicle.trail.clear()
        self.t_s, self.clock_heard_s = update.t_s, wall_s

    def _odometry(self, update: n.OdometryUpdate, wall_s: float) -> None:
        vehicle = self.vehicle(update.vehicle)
        if not np.isfinite(update.odometry.state).all():
            return  # as good as silence
        if vehicle.name in self._lost:
            self._lost.discard(vehicle.name)
            self._say(0, f"{vehicle.name} is heard again")
        vehicle.odometry, vehicle.heard_s = update.odometry, wall_s
        vehicle.trail.add(update.odometry.position_m)
        if self.clock_heard_s is None:
            self.t_s = update.odometry.stamp_s

    def _plan(self, update: n.PlanUpdate, wall_s: float) -> None:
        vehicle = self.vehicle(update.vehicle)
        vehicle.plan, vehicle.plan_heard_s = update.plan, wall_s

    def _thrust(self, update: n.ThrustUpdate, _: float) -> None:
        self.vehicle(update.vehicle).thrust_N = update.thrust_N

    def _sight(self, update: n.SightUpdate, wall_s: float) -> None:
        self.vehicle(update.vehicle).reported[update.other] = update.angle_deg, update.distance_m, wall_s

    def _diagnostic(self, update: n.DiagnosticUpdate, wall_s: float) -> None:
        status = Status(update.level, update.message, update.values, wall_s)
        before = self.statuses.get(update.name)
        self.statuses[update.name] = status
        if update.name.endswith("controller") and update.hardware_id:
            self.vehicle(update.hardware_id).status = status
        if update.level > (before.level if before else 0) or (before and before.level > update.level):
            who = update.hardware_id if update.name.endswith("controller") else update.name.removeprefix("shoal: ")
            self._say(update.level, f"{who}: {update.message}")

    def _reference(self, update: n.ReferenceUpdate, wall_s: float) -> None:
        self.preview, self.reference_heard_s = update.preview, wall_s

    def _formation(self, update: n.FormationUpdate, _: float) -> None:
        self.slots, self.sight_pairs = update.slots, update.sight

    def _mode(self, update: n.ModeUpdate, _: float) -> None:
        if update.mode != self.mode:
            self._say(0, f"mode: {update.mode}")
        self.mode = update.mode

    def _test(self, update: n.TestUpdate, _: float) -> None:
        self.test = update.status

    def settle(self, wall_s: float) -> None:
        """After a batch of update: who is missing, and how a running test goes."""
        for vehicle in self.vehicles.values():
            if vehicle.lost(wall_s) and vehicle.name not in self._lost:
                self._lost.add(vehicle.name)
                self._say(2, f"{vehicle.name} is lost: no odometry")
        verdict = self._judge.look(self, wall_s)
        if verdict is not None:
            self.verdicts.append(verdict)
            self._say(0 if verdict.passed else 2, verdict.sentence())

    def _queue(self, update: n.QueueUpdate, _: float) -> None:
        self.queue_m = update.positions_m

    def _current(self, update: n.CurrentUpdate, _: float) -> None:
        self.current_mps = update.velocity_mps

    def _stop(self, update: n.StopUpdate, _: float) -> None:
        if update.stopped != self.stopped:
            self._say(
                2 if update.stopped else 0,
                "STOP: zero thrust on every vehicle" if update.stopped else "stop released",
            )
        self.stopped = update.stopped

    def _graph(self, update: n.GraphUpdate, _: float) -> None:
        for name in update.vehicles:
            self.vehicle(name)
        for gone in sorted(self.nodes - update.nodes):
            self._say(1, f"{gone} is gone")
        for new in sorted(update.nodes - self.nodes) if self.nodes else ():
            self._say(0, f"{new} is there")
        self.nodes, self.stick = update.nodes, update.stick

    def _facts(self, update: n.FactsUpdate, _: float) -> None:
        name = update.values.get("fleet")
        if isinstance(name, str) and name and self.fleet is None:
            with contextlib.suppress(ShoalError):  # a file on another computer: the defaults will do
                self.set_fleet(load_fleet(name))
        known = {ours: float(update.values[theirs]) for theirs, ours in LIMITS.items() if theirs in update.values}
        self.limits = replace(self.limits, **known)

    def _event(self, update: n.EventUpdate, _: float) -> None:
        self._say(update.level, update.text)

    def _say(self, level: int, text: str) -> None:
        self.events.append(Event(self.t_s, level, text))
