"""Everything the station has received, and how old it is. No Qt, no ROS: tests and pictures fill it as they like."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.fleet.body_shape import shape_of
from shoal.fleet.file import Fleet, load_fleet
from shoal.fleet.stop import StopState
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.limits import Limits
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal_rqt import updates as n
from shoal_rqt.fleet_stop import FleetStop
from shoal_rqt.neighbour_view import NeighbourView
from shoal_rqt.structures import Structures
from shoal_rqt.vehicle_state import Status, VehicleState
from shoal_rqt.verdict import TestMonitor, TestVerdict

Array = NDArray[np.float64]
REPORT_S = 1.0  # of wall time for which a controller's own report on a neighbour is used
CLOCK_S = 2.0  # of wall time without a tick, then the clock has stopped
MAX_EVENTS = 200
LIMIT_PARAMETERS = tuple(f"limits.{name}" for name in Limits.model_fields)  # of a controller


@dataclass(frozen=True)
class Event:
    """A line for the operator."""

    t_s: float | None  # ROS time
    level: int
    text: str


class FleetModel:
    """`apply` updates, then read. Nothing here grows without bound."""

    def __init__(self, fleet: Fleet | None = None) -> None:
        self.vehicles: dict[str, VehicleState] = {}
        self.limits = Limits()
        self.fleet: Fleet | None = None
        self.t_s: float | None = None
        self.clock_received_s: float | None = None
        self.mode = ""
        self.test: Mapping[str, Any] = {}
        self.verdicts: deque[TestVerdict] = deque(maxlen=50)
        self.preview: Preview | None = None
        self.reference_received_s: float | None = None
        self.placement: Placement | None = None
        self.sight_pairs: tuple[tuple[str, str], ...] = ()
        self.queue_m: Array = np.zeros((0, 3))
        self.current_mps: Array | None = None
        self.stop = FleetStop()
        self.nodes: frozenset[str] = frozenset()
        self.stick = False
        self.statuses: dict[str, Status] = {}
        self.events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._lost: set[str] = set()
        self._test_monitor = TestMonitor()
        self.structures = Structures(self._add_event)
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            n.ClockUpdate: self._clock, n.OdometryUpdate: self._odometry, n.PlanUpdate: self._plan,
            n.ThrustUpdate: self._thrust, n.SightUpdate: self._sight, n.DiagnosticUpdate: self._diagnostic,
            n.ReferenceUpdate: self._reference, n.FormationUpdate: self._formation, n.ModeUpdate: self._mode,
            n.TestUpdate: self._test, n.QueueUpdate: self._queue, n.CurrentUpdate: self._current,
            n.StopUpdate: self._stop, n.StopRequestUpdate: self._stop_requested,
            n.GraphUpdate: self._graph, n.ParametersUpdate: self._parameters, n.EventUpdate: self._event,
            **self.structures.handlers,
        }  # fmt: skip
        if fleet is not None:
            self.set_fleet(fleet)

    def apply(self, update: n.Update, wall_s: float) -> None:
        """Something was received."""
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
        self.limits = fleet.limits
        for member in fleet.vehicles:
            vehicle, state = member.vehicle(), self.vehicle(member.name)
            state.thrust_limits_N = vehicle.thrust_min_N, vehicle.thrust_max_N
            state.shape = shape_of(member)
            if not len(state.thrust_N):
                state.thrust_N = np.full(vehicle.input_count, np.nan)

    # -- derived -----------------------------------------------------------------------------------

    def must_see(self, seer: str, other: str) -> bool:
        """By the formation."""
        return (seer, other) in self.sight_pairs

    @property
    def stopped(self) -> bool:
        """Whether the fleet is, by its own account."""
        return self.stop.stopped

    def neighbour(self, seer: str, other: str, wall_s: float) -> NeighbourView:
        """By the vehicle's own report while that is fresh, else from both odometries; unknown when one is lost."""
        own, theirs = self.vehicles[seer], self.vehicles[other]
        angle: float | None = None
        distance: float | None = None
        if not own.is_lost(wall_s) and not theirs.is_lost(wall_s):
            report = own.reported.get(other)
            if report is not None and wall_s - report[2] < REPORT_S:
                angle, distance = report[0], report[1]
            if own.odometry is not None and theirs.position_m is not None:
                if angle is None:
                    angle = sight_angle_deg(own.odometry.state, theirs.position_m)
                if distance is None:
                    distance = float(np.linalg.norm(theirs.position_m - own.odometry.position_m))
        near = self.structures.may_be_near(seer, other)
        return NeighbourView(other, self.must_see(seer, other), angle, distance, self.limits, near)

    def neighbours(self, seer: str, wall_s: float) -> list[NeighbourView]:
        """Those it must see, and those that are too close."""
        found = [self.neighbour(seer, other, wall_s) for other in self.vehicles if other != seer]
        return [view for view in found if view.must_see or view.distance_severity or len(self.vehicles) <= 3]

    def clock_has_stopped(self, wall_s: float) -> bool:
        """It ticked, and does no longer. Real vehicles have no such clock."""
        return self.clock_received_s is not None and wall_s - self.clock_received_s > CLOCK_S

    def plan_age_s(self, name: str, wall_s: float) -> float | None:
        """Of the newest plan; in wall time when the clock is not simulated or has stopped."""
        vehicle = self.vehicles[name]
        if vehicle.plan is None or vehicle.plan_received_s is None:
            return None
        if self.t_s is None or self.clock_has_stopped(wall_s) or self.clock_received_s is None:
            return wall_s - vehicle.plan_received_s
        return max(0.0, self.t_s - vehicle.plan.stamp_s)

    # -- updates -----------------------------------------------------------------------------------------

    def _clock(self, update: n.ClockUpdate, wall_s: float) -> None:
        if self.t_s is not None and update.t_s < self.t_s - 1.0:
            self._add_event(0, "the clock went back: a new run")
            for vehicle in self.vehicles.values():
                vehicle.trail.clear()
        self.t_s, self.clock_received_s = update.t_s, wall_s

    def _odometry(self, update: n.OdometryUpdate, wall_s: float) -> None:
        vehicle = self.vehicle(update.vehicle)
        if not update.odometry.is_finite:
            return  # as good as silence
        if vehicle.name in self._lost:
            self._lost.discard(vehicle.name)
            self._add_event(0, f"{vehicle.name} is back")
        vehicle.odometry, vehicle.received_s = update.odometry, wall_s
        vehicle.trail.add(update.odometry.position_m)
        if self.clock_received_s is None:
            self.t_s = update.odometry.stamp_s

    def _plan(self, update: n.PlanUpdate, wall_s: float) -> None:
        vehicle = self.vehicle(update.vehicle)
        vehicle.plan, vehicle.plan_received_s = update.plan, wall_s

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
            self._add_event(update.level, f"{who}: {update.message}")

    def _reference(self, update: n.ReferenceUpdate, wall_s: float) -> None:
        self.preview, self.reference_received_s = update.preview, wall_s

    def _formation(self, update: n.FormationUpdate, _: float) -> None:
        self.placement, self.sight_pairs = update.placement, update.placement.sight

    def _mode(self, update: n.ModeUpdate, _: float) -> None:
        if update.mode != self.mode:
            self._add_event(0, f"mode: {update.mode}")
        self.mode = update.mode

    def _test(self, update: n.TestUpdate, _: float) -> None:
        self.test = update.status

    def check(self, wall_s: float) -> None:
        """After a batch of updates: who is missing, and how a running test goes."""
        for vehicle in self.vehicles.values():
            if vehicle.is_lost(wall_s) and vehicle.name not in self._lost:
                self._lost.add(vehicle.name)
                self._add_event(2, f"{vehicle.name} is lost: no odometry")
        verdict = self._test_monitor.update(self, wall_s)
        if verdict is not None:
            self.verdicts.append(verdict)
            self._add_event(0 if verdict.passed else 2, verdict.sentence())

    def _queue(self, update: n.QueueUpdate, _: float) -> None:
        self.queue_m = update.positions_m

    def _current(self, update: n.CurrentUpdate, _: float) -> None:
        self.current_mps = update.velocity_mps

    def _stop(self, update: n.StopUpdate, _: float) -> None:
        before = self.stop.state
        self.stop.report(update.holder, update.state)
        self._log_stop(before)

    def _stop_requested(self, update: n.StopRequestUpdate, _: float) -> None:
        self.stop.requested = update.requested

    def _log_stop(self, before: StopState) -> None:
        now = self.stop.state
        if now.stopped and not before.stopped:
            self._add_event(2, f"STOP {now.counter} by {now.owner}: zero thrust on every vehicle")
        elif before.stopped and not now.stopped:
            self._add_event(0, f"STOP released by {now.owner}" if now.owner else "no STOP")

    def _graph(self, update: n.GraphUpdate, _: float) -> None:
        for name in update.vehicles:
            self.vehicle(name)
        gone, before = self.nodes - update.nodes, self.stop.state
        for name in sorted(gone):
            self._add_event(1, f"{name} is gone")
        for name in sorted(update.nodes - self.nodes) if self.nodes else ():
            self._add_event(0, f"{name} is up")
        self.stop.forget(gone)
        self._log_stop(before)
        self.nodes, self.stick = update.nodes, update.stick

    def _parameters(self, update: n.ParametersUpdate, _: float) -> None:
        name = update.values.get("fleet")
        if isinstance(name, str) and name and self.fleet is None:
            with contextlib.suppress(ShoalError):  # a file on another computer: the defaults will do
                self.set_fleet(load_fleet(name))
        known = {p.removeprefix("limits."): update.values[p] for p in LIMIT_PARAMETERS if p in update.values}
        if known:
            with contextlib.suppress(ValueError):  # of a controller that was tuned in between: the next ones fit
                self.limits = Limits.model_validate(self.limits.model_dump() | known)

    def _event(self, update: n.EventUpdate, _: float) -> None:
        self._add_event(update.level, update.text)

    def _add_event(self, level: int, text: str) -> None:
        self.events.append(Event(self.t_s, level, text))
