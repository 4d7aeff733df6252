"""Everything between a message in and a message out, for one vehicle; simulator and ROS node only carry messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.assembly.joints import Pose
from shoal.config.file_model import FileModel
from shoal.control.base import Controller
from shoal.estimation.odometry_stamps import StampCorrector
from shoal.fleet.agent import Agent
from shoal.fleet.agent_settings import AgentSettings, Timing
from shoal.fleet.companion import Companion
from shoal.fleet.gate import check_contents
from shoal.fleet.handover import Knowledge
from shoal.fleet.hull_gaps import Hulls
from shoal.fleet.neighbour_table import NeighbourTable
from shoal.fleet.reference_tracker import ReferenceTracker
from shoal.fleet.step_trigger import StepTrigger
from shoal.fleet.stop import StopLatch, StopState
from shoal.messages.command import Command
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.limits import Limits
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.scan import Scan
from shoal.messages.state import POSITION
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
TICK_S = 0.2  # of a simulated clock, at most: its message may come after the odometry it belongs to
CLOCK_BACK_S = 0.5  # a clock that goes back further has been reset; less is only its message coming late


class RuntimeSettings(FileModel):
    """How long messages are good for, and what is around the controller."""

    odometry_fallback_s: float = Field(
        default=0.5, ge=0, description="s: with an older plan a neighbour's odometry counts; 0: never"
    )
    lost_s: float = Field(default=2.0, gt=0, description="s without a plan, then contact with a neighbour is lost")
    reference_timeout_s: float = Field(default=1.5, gt=0, description="s: an older reference is not followed")
    agent: AgentSettings = AgentSettings()


@dataclass(frozen=True)
class Role:
    """Who the vehicle is in its fleet."""

    name: str
    others: tuple[str, ...]
    must_see: frozenset[str]  # until guidance says otherwise
    limits: Limits


class VehicleRuntime:
    """`on_…` whatever arrives, `tick` when time goes on; a Command when a step was due, else None."""

    def __init__(
        self,
        role: Role,
        vehicle: Vehicle,
        controller: Controller,
        settings: RuntimeSettings,
        timing: Timing,
        stopwatch: Callable[[], float],
        stop: StopLatch | None = None,
        coarse_clock: bool = False,
    ) -> None:
        """`coarse_clock`: time is a simulator's, which ticks."""
        self.role, self.settings, self._vehicle = role, settings, vehicle
        self.agent = Agent(
            role.name, vehicle, controller, settings.agent, timing, stopwatch, role.limits.distance_hard_m
        )
        self.neighbours = NeighbourTable(role.name, role.others, settings.odometry_fallback_s, settings.lost_s)
        self.stop = StopLatch() if stop is None else stop
        self._reference = ReferenceTracker(role.name, settings.reference_timeout_s, role.must_see)
        self._trigger = StepTrigger(timing.period_s)
        self._odometry: Odometry | None = None  # under its corrected stamp
        self._tick_s = TICK_S if coarse_clock else 0.0
        self._stamps = StampCorrector(self._tick_s)
        self._refused: tuple[Issue, float] | None = None  # odometry that was not taken, and when
        self._new_odometry = self._step_now = False
        self._thrusters_live = True  # until somebody says otherwise
        self._holding: Issue | None = None
        self._scan: Scan | None = None
        self.companion: Companion | None = None
        self._last_s = -math.inf
        self.last: Command | None = None

    # -- what arrives -------------------------------------------------------------------------------------------

    def on_odometry(self, odometry: Odometry, now_s: float) -> None:
        """Our own. One that was overtaken on its way, or comes from the future, never replaces a good one."""
        self._watch_clock(now_s)
        ahead_s = odometry.stamp_s - now_s
        if ahead_s > self.settings.agent.gate.future_s:  # one absurd stamp must not outlive all good ones
            self._refused = Issue(Code.ODOMETRY_IN_FUTURE, Severity.WARNING, value=ahead_s), now_s
            return
        self._new_odometry = True
        if problem := check_contents(odometry):  # the last good one is used until it is too old
            self._refused = problem, now_s
            return
        stamp_s = self._stamps.correct(odometry.stamp_s, now_s)
        if stamp_s is not None:
            self._odometry = Odometry(stamp_s, odometry.state)

    def on_plan(self, plan: Plan, now_s: float) -> None:
        """A neighbour's."""
        self.neighbours.add_plan(plan, now_s)

    def on_neighbour_odometry(self, name: str, odometry: Odometry, now_s: float) -> None:
        """Of one whose plans are stale; see `neighbours.stale`."""
        self.neighbours.add_odometry(name, odometry, now_s)

    def on_reference(
        self, reference: Preview, setpoints: Mapping[str, Preview] | None = None, now_s: float | None = None
    ) -> None:
        """The common setpoint over the next seconds; without `now_s`, its times are taken as our clock's."""
        self._reference.on_reference(reference, setpoints, now_s)

    def on_scan(self, scan: Scan) -> None:
        """What the relative sensor sees of the others; used with the next step's odometry."""
        self._scan = scan

    def on_forget(self, name: str) -> None:
        """The operator has a silent neighbour out of the water, or knows where it is: nobody need keep off."""
        self.neighbours.forget(name)

    def on_formation(self, placement: Placement) -> None:
        """Who has which place, and who must see whom."""
        self._reference.on_formation(placement)

    def on_stop(self, owner: str) -> StopState:
        """STOP; acted upon at once, not with the next odometry."""
        self._step_now = True
        return self.stop.stop(owner)

    def on_release(self, counter: int, owner: str) -> bool:
        """The end of that STOP; False when another one holds."""
        self._step_now = True
        return self.stop.release(counter, owner)

    def on_stop_state(self, state: StopState) -> bool:
        """What a peer knows of STOP; whether it was new."""
        changed = self.stop.learn(state)
        self._step_now |= changed
        return changed

    def on_thrusters(self, live: bool) -> None:
        """Whether commands reach the thrusters, from the next step on.

        A disarmed vehicle, which does not answer, would seem to be held against whatever is commanded, and be commanded
        ever more: all of it at once on arming.
        """
        if live == self._thrusters_live:
            return
        self._thrusters_live = live
        if live:
            self.agent.set_vehicle(self._vehicle)  # mass and drag learnt while it was carried about are void

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another vehicle from the next step on: after joining, parting or damage."""
        self._vehicle = vehicle
        self.agent.set_vehicle(vehicle)

    def take_over(self, vehicle: Vehicle, known: Knowledge | None) -> None:
        """Another body from the next step on: joined to others, or parted from them."""
        self._vehicle = vehicle
        self.agent.take_over(vehicle, known)
        self._odometry = None if known is None else known.odometry

    def accompany(self, now_s: float, thrust_N: Array | None, sent_s: float = math.inf) -> None:
        """Instead of `tick`, while another member flies the group: `thrust_N` is its command, None: none came."""
        self._last_s = t_s = max(now_s, self._last_s)
        self._trigger.stepped(t_s, by_clock=not self._new_odometry)
        self._new_odometry = self._step_now = False
        self.last = None
        self.agent.accompany(t_s, self._odometry, thrust_N, min(sent_s, t_s))

    def set_anchor(self, anchor: tuple[str, Pose] | None) -> None:
        """Joined: whose place in the formation the group takes, and where that module is in the composite's frame."""
        self._reference.set_anchor(anchor)

    def set_hulls(self, hulls: Hulls) -> None:
        """Between which points of us and the others distances are kept."""
        self.agent.hulls = hulls

    def on_joining(self, groups: Sequence[Sequence[str]], partners: Sequence[Sequence[str]] = ()) -> None:
        """Who moves as one, and sends one plan; and who may come closer to each other than the limits say."""
        self.neighbours.set_groups(groups, partners)

    # -- time ---------------------------------------------------------------------------------------------------

    def time(self, now_s: float) -> float:
        """Now. A simulated clock ticks coarsely, and its message may come after the odometry it belongs to."""
        self._watch_clock(now_s)
        stamp_s = -math.inf if self._odometry is None else self._odometry.stamp_s
        return max(stamp_s if 0 < stamp_s - now_s <= self._tick_s else now_s, self._last_s)

    def _watch_clock(self, now_s: float) -> None:
        if now_s < self._last_s - CLOCK_BACK_S:
            self.reset()

    def reset(self) -> None:
        """The clock went back: everything timed is void. STOP is not."""
        self._odometry, self._refused, self.last = None, None, None
        self._stamps = StampCorrector(self._tick_s)
        self._new_odometry = False
        self._trigger = StepTrigger(self._trigger.period_s)
        self.neighbours.clear()
        self._reference.clear()
        self._last_s = -math.inf

    def step_now(self) -> None:
        """Do not wait for odometry: something has changed that must act at once."""
        self._step_now = True

    def due(self, now_s: float) -> bool:
        """Whether `tick` may step; lets a node read its queues only then."""
        t_s = max(now_s, self._last_s)
        by_odometry = self._new_odometry and (self._trigger.due(t_s) or self._holding is not None)
        return self._step_now or by_odometry or self._trigger.overdue(t_s)

    def tick(self, now_s: float) -> Command | None:
        """A step, if one is due: on odometry, a control period apart; by the clock when odometry stays away."""
        t_s = max(now_s, self._last_s)
        arrived, self._new_odometry = self._new_odometry, False
        due = arrived and self._trigger.due(t_s)
        # The clock stands and odometry is repeated: perhaps the reference has come that was missing.
        again = arrived and self._holding is not None and not self.stop.stopped and self._reference.missing(t_s) is None
        if not (self._step_now or due or again or self._trigger.overdue(t_s)):
            return None
        self._step_now = False
        self._trigger.stepped(t_s, by_clock=not arrived)
        return self._step(t_s)

    def _step(self, t_s: float) -> Command:
        self._last_s = t_s
        self._holding = None
        known: Mapping[str, Plan] = self.neighbours.known(t_s)
        if self.stop.stopped:
            reason = Issue(Code.STOPPED, Severity.ERROR, self.stop.state.owner, float(self.stop.state.counter))
            command = self.agent.rest(t_s, self._odometry, reason)
        elif not self._thrusters_live:
            command = self.agent.rest(t_s, self._odometry, Issue(Code.THRUSTERS_OFF, Severity.WARNING))
        else:
            # Who sends no plan is not assumed to return to its place.
            without = self.neighbours.without_plan(t_s)
            directive, self._holding = self._reference.directive(t_s, self._odometry, without)
            if self.companion is not None and (own := self.agent.knowledge) is not None:
                directive, known = self.companion.guide(t_s, own.odometry, directive, known)
            # Of a partner that docks with us the companion takes care: to jump aside beside its port helps nobody.
            hazards = tuple(h for h in self.neighbours.hazards(t_s) if h.vehicle not in directive.partners)
            command = self.agent.step(t_s, self._odometry, directive, known, hazards)
        if self._scan is not None:  # after the step: the estimate is of the newest odometry, as the scan is
            if self.agent.located:
                self.neighbours.see(self._scan, self.agent.estimator.state)
            self._scan = None
        extra = self._extra_issues(t_s)
        if extra:
            issues = tuple(i for i in command.health.issues if i.code is not Code.STALE_PLAN or not _lost(i, extra))
            command = replace(command, health=replace(command.health, issues=issues + extra))
        if echoes := self.neighbours.echoes(t_s):
            command = replace(command, plan=replace(command.plan, heard=echoes))
        if self.companion is not None and (word := self.companion.word) is not None:
            command = replace(command, plan=replace(command.plan, docking=word))
        self.last = command
        return command

    def _extra_issues(self, t_s: float) -> tuple[Issue, ...]:
        found: tuple[Issue, ...] = () if self._holding is None else (self._holding,)
        if self._refused is not None:
            if t_s - self._refused[1] <= self.settings.agent.monitor.linger_s:
                found += (self._refused[0],)
            else:
                self._refused = None
        apart = self.neighbours.skews_s()
        if self._reference.skew_s != 0.0:
            apart["guidance"] = self._reference.skew_s
        found += tuple(Issue(Code.CLOCKS_APART, Severity.WARNING, who, skew_s) for who, skew_s in apart.items())
        doubted = self.neighbours.doubted()
        found += tuple(Issue(Code.PLAN_DOUBTED, Severity.WARNING, who, off_m) for who, off_m in doubted.items())
        found += tuple(Issue(Code.PLAN_REPEATED, Severity.WARNING, who) for who in self.neighbours.repeating())
        lost = self.neighbours.lost(t_s)
        found += tuple(Issue(Code.LOST_CONTACT, Severity.WARNING, n, silent) for n, silent in lost.items())
        return found + self._hazard_issues(t_s)

    def _hazard_issues(self, t_s: float) -> tuple[Issue, ...]:
        """Of those that are near enough to bend our path: of the others it is enough that contact was lost."""
        settings, soft_m = self.settings.agent.neighbours, self.role.limits.distance_soft_m
        own_m, found = self.agent.estimator.state[POSITION], []
        for hazard in self.neighbours.hazards(t_s):
            distance_m = float(np.linalg.norm(hazard.nearest_m(own_m, t_s, settings.hazard_rise_mps) - own_m))
            if distance_m < soft_m + hazard.margin_m(t_s, settings.hazard_growth_mps, settings.hazard_max_m):
                found.append(Issue(Code.HAZARD, Severity.WARNING, hazard.vehicle, distance_m))
        return tuple(found)


def _lost(stale: Issue, issues: tuple[Issue, ...]) -> bool:
    """Whether the neighbour of a stale plan is reported as lost anyway."""
    return any(i.code is Code.LOST_CONTACT and i.subject == stale.subject for i in issues)
