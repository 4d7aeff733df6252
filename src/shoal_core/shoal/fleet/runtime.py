"""Everything between a message in and a message out, for one vehicle; simulator and ROS node only carry messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.control.base import Controller
from shoal.fleet.agent import Agent, AgentSettings, Timing
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
from shoal.vehicles.description import Vehicle

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
    ) -> None:
        self.role, self.settings = role, settings
        self.agent = Agent(
            role.name, vehicle, controller, settings.agent, timing, stopwatch, role.limits.distance_hard_m
        )
        self.neighbours = NeighbourTable(role.others, settings.odometry_fallback_s, settings.lost_s)
        self.stop = StopLatch() if stop is None else stop
        self._reference = ReferenceTracker(role.name, settings.reference_timeout_s, role.must_see)
        self._trigger = StepTrigger(timing.period_s)
        self._odometry: Odometry | None = None
        self._refused: tuple[Issue, float] | None = None  # odometry that was not taken, and when
        self._new_odometry = self._step_now = False
        self._holding: Issue | None = None
        self._last_s = -math.inf
        self.last: Command | None = None

    # -- what arrives -------------------------------------------------------------------------------------------

    def on_odometry(self, odometry: Odometry, now_s: float) -> None:
        """Our own. One that was overtaken on its way, or comes from the future, never replaces a good one."""
        ahead_s = odometry.stamp_s - now_s
        if ahead_s > self.settings.agent.gate.future_s:  # one absurd stamp must not outlive all good ones
            self._refused = Issue(Code.ODOMETRY_IN_FUTURE, Severity.WARNING, value=ahead_s), now_s
            return
        self._new_odometry = True
        if self._odometry is None or not odometry.stamp_s <= self._odometry.stamp_s:
            self._odometry = odometry

    def on_plan(self, plan: Plan, now_s: float) -> None:
        """A neighbour's."""
        self.neighbours.add_plan(plan, now_s)

    def on_neighbour_odometry(self, name: str, odometry: Odometry, now_s: float) -> None:
        """Of one whose plans are stale; see `neighbours.stale`."""
        self.neighbours.add_odometry(name, odometry, now_s)

    def on_reference(self, reference: Preview, setpoints: Mapping[str, Preview] | None = None) -> None:
        """The common setpoint over the next seconds."""
        self._reference.on_reference(reference, setpoints)

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

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another vehicle from the next step on: after joining, parting or damage."""
        self.agent.set_vehicle(vehicle)

    # -- time ---------------------------------------------------------------------------------------------------

    def time(self, now_s: float, stamp_s: float = -math.inf) -> float:
        """Now. A simulated clock ticks coarsely, and its message may come after the odometry it belongs to."""
        t_s = stamp_s if 0 < stamp_s - now_s <= self.settings.agent.gate.future_s else now_s
        if t_s < self._last_s - CLOCK_BACK_S:
            self.reset()
        return max(t_s, self._last_s)

    def reset(self) -> None:
        """The clock went back: everything timed is void. STOP is not."""
        self._odometry, self._refused, self.last = None, None, None
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
        known = self.neighbours.known(t_s)
        if self.stop.stopped:
            reason = Issue(Code.STOPPED, Severity.ERROR, self.stop.state.owner, float(self.stop.state.counter))
            command = self.agent.rest(t_s, self._odometry, reason)
        else:
            # Who sends no plan is not assumed to return to its place.
            without = self.neighbours.without_plan(t_s)
            directive, self._holding = self._reference.directive(t_s, self._odometry, without)
            command = self.agent.step(t_s, self._odometry, directive, known)
        extra = self._extra_issues(t_s)
        if extra:
            issues = tuple(i for i in command.health.issues if i.code is not Code.STALE_PLAN or not _lost(i, extra))
            command = replace(command, health=replace(command.health, issues=issues + extra))
        self.last = command
        return command

    def _extra_issues(self, t_s: float) -> tuple[Issue, ...]:
        found: tuple[Issue, ...] = () if self._holding is None else (self._holding,)
        if self._refused is not None:
            if t_s - self._refused[1] <= self.settings.agent.monitor.linger_s:
                found += (self._refused[0],)
            else:
                self._refused = None
        lost = self.neighbours.lost(t_s)
        return found + tuple(Issue(Code.LOST_CONTACT, Severity.WARNING, n, silent) for n, silent in lost.items())


def _lost(stale: Issue, issues: tuple[Issue, ...]) -> bool:
    """Whether the neighbour of a stale plan is reported as lost anyway."""
    return any(i.code is Code.LOST_CONTACT and i.subject == stale.subject for i in issues)
