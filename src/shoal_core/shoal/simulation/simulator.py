"""The lock-step simulator: one world, one runtime per vehicle, messages between them. Deterministic for a seed.

It carries messages and nothing else: what a vehicle knows, it was sent. Time stands still while a controller computes,
unless the condition says how long that takes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.fleet.link import Link
from shoal.fleet.reference_tracker import FormationSetpoints
from shoal.fleet.runtime import VehicleRuntime
from shoal.frames import yaw_of
from shoal.messages.command import Command
from shoal.messages.echo import Echo
from shoal.messages.health import Health
from shoal.messages.joining import Ownership
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.placement import Placement
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.scan import Scan
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording
from shoal.simulation.clocks import VehicleClocks
from shoal.simulation.conditions import Condition, ControllerTime
from shoal.simulation.docking_flight import DockingFlight
from shoal.simulation.joined_flight import JoinedFlights
from shoal.simulation.plan_faults import PlanFaults
from shoal.simulation.reference_link import ReferenceChannel
from shoal.simulation.run_log import RunLog
from shoal.simulation.world import World

Array = NDArray[np.float64]
ACQUAINTANCE_S = 2.0  # how long a fleet has been exchanging plans, beyond the link's delay, before a run begins
OPERATOR = "task"


class Directing(Protocol):
    """What guidance does: the task's director in the simulator, the guidance node on ROS."""

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        """What goes out at `t_s`, given what the vehicles have measured."""
        ...


@runtime_checkable
class Listening(Protocol):
    """A director that must know more of the fleet than where it is."""

    def hear(self, t_s: float, stopped: bool, owners: Mapping[str, Ownership]) -> None:
        """Whether STOP holds, and whose commands each vehicle says that it obeys; silent ones are missing."""
        ...


class FleetSimulator:
    """Steps everything by one control period at a time and writes down what happened."""

    def __init__(
        self,
        world: World,
        runtimes: Mapping[str, VehicleRuntime],
        director: Directing,
        seed: int,
        control_period_s: float,
        duration_s: float,
        acquainted: bool = True,
        record_plans_every_s: float = 0.5,
        restart: Callable[[str], VehicleRuntime] | None = None,
    ) -> None:
        """`acquainted`: the vehicles have been there for a while, at rest, exchanging plans over the same link.

        `restart` makes a runtime with empty memory, for a vehicle whose controller restarts.
        """
        self.world, self.runtimes, self._director = world, dict(runtimes), director
        self._restart, self._down = restart, set[str]()
        self._clocks = VehicleClocks(world.condition.clocks, world.names)
        self._scans: dict[str, Scan] = {}
        self._plan_faults = PlanFaults(world.faults)
        self._heard: dict[str, tuple[float, float]] = {}  # odometry at guidance: its stamp there, and when it came
        self._period_s, self._acquainted = control_period_s, acquainted
        condition = world.condition
        of_links = world.faults.of_link if world.faults.of_links else None
        self._link = Link(condition.link, np.random.default_rng([seed, 4]), of_links)
        self._references = ReferenceChannel(condition.reference, tuple(runtimes), np.random.default_rng([seed, 6]))
        self._placement: Placement | None = None
        self._setpoints: Mapping[str, Preview] | None = None
        steps = round(duration_s / control_period_s)
        thrusters = {name: r.agent.vehicle.input_count for name, r in runtimes.items()}
        self.log = RunLog(steps + 1, thrusters, world, control_period_s, record_plans_every_s)
        self._joined = JoinedFlights(world, self.runtimes, self._clocks)
        self.docking = DockingFlight(world, self.runtimes, self._joined, director)
        self._states: dict[str, Array] = {}  # the truth now, by name
        self._stamps: dict[str, float] = dict.fromkeys(runtimes, -math.inf)
        self.wall_s = 0.0

    def run(self, progress: Callable[[float], None] | None = None, over: Callable[[float], bool] | None = None) -> None:
        """To the end, or until `over` says so."""
        for k, share in enumerate(self.ticks()):
            if progress is not None and k % 20 == 0:
                progress(share)
            if over is not None and over(self.world.t_s):
                return

    def ticks(self) -> Iterator[float]:
        """One control period at a time, for those who run several loops side by side; yields the share done."""
        steps = self.log.capacity - 1
        for k in range(steps + 1):
            started = time.perf_counter()
            self._tick(k, k * self._period_s)
            self.wall_s += time.perf_counter() - started
            yield k / max(steps, 1)

    @property
    def sent_bits(self) -> int:
        """Of plans, by all vehicles."""
        return self._link.sent_bits

    @property
    def owners(self) -> dict[str, Ownership]:
        """As every vehicle whose controller runs would tell."""
        told = {n: m.ownership for n, m in self._joined.memberships.items() if n not in self._down}
        return {name: owner for name, owner in told.items() if owner is not None}

    def recording(self) -> Recording:
        """What happened so far."""
        return self.log.recording(self._placement)

    # -- one tick -----------------------------------------------------------------------------------------------

    def _tick(self, k: int, t_s: float) -> None:
        odometry, self._scans = self.world.measure(), self.world.scans()
        self._states = dict(zip(self.runtimes, self.world.states, strict=True))
        if k == 0 and self._acquainted:
            self._exchange_first_plans(odometry)
        self.docking.tick(t_s)
        self._direct(t_s, odometry)
        self.log.begin(k, t_s)
        joined = self._members()
        for group in self._joined.groups():
            self._fly(k, t_s, group, odometry)
        for i, (name, runtime) in enumerate(self.runtimes.items()):
            if name in joined:
                continue
            if self.world.faults and self._is_down(t_s, name):
                self.log.vehicle(k, i, name, t_s, odometry[name], None, 0.0)
                continue
            runtime = self.runtimes[name]  # perhaps another one by now
            self._deliver(t_s, name, runtime, odometry[name])
            started = time.thread_time()
            own_s = self._clocks.own_s(name, t_s)
            command = runtime.tick(own_s)
            elapsed_ms = (time.thread_time() - started) * 1e3
            if command is not None:
                self._publish(t_s, name, command)
            done = command or runtime.last
            if done is not None and own_s != t_s:
                done = replace(done, plan=done.plan.shifted(t_s - own_s))
            self.log.vehicle(k, i, name, t_s, odometry[name], done, elapsed_ms)
        self.world.step(self._period_s)

    def _members(self) -> set[str]:
        """Of all that fly as one."""
        return {name for group in self._joined.groups() for name in group}

    def _fly(self, k: int, t_s: float, members: tuple[str, ...], odometry: Mapping[str, Odometry | None]) -> None:
        """A joined group: all members' odometry and the flying one's thrust are relayed, within the same period."""
        up = [name for name in members if not (self.world.faults and self._is_down(t_s, name))]
        parts = self._joined.memberships
        for name in up:
            self._joined.relay_odometry(name, odometry)
            self._deliver(t_s, name, self.runtimes[name], odometry[name])
        flown, elapsed_ms, pilot = None, 0.0, None
        for name in sorted(up, key=lambda n: not parts[n].flies):  # whoever flies first: the others relay its command
            own_s, started = self._clocks.own_s(name, t_s), time.thread_time()
            command = parts[name].tick(own_s)
            if not parts[name].flies:
                continue
            pilot, elapsed_ms, flown = name, (time.thread_time() - started) * 1e3, command or self.runtimes[name].last
            if command is not None:
                self._publish(t_s, name, command, parts[name].shares_N(command.thrust_N))
                for mate in up:
                    if mate != name:
                        mates_s = self._clocks.own_s(mate, t_s)
                        parts[mate].on_command(parts[name].group_command(command, mates_s), mates_s)
        for name in members:
            share = None
            if flown is not None and pilot is not None:
                share = replace(flown, thrust_N=parts[pilot].shares_N(flown.thrust_N)[name])
                if name != pilot:
                    share = replace(share, health=Health(share.health.mode, ()))
            index = list(self.runtimes).index(name)
            self.log.vehicle(k, index, name, t_s, odometry[name], share, elapsed_ms if name == pilot else 0.0)
        if (order := self._joined.broken(up)) is not None:
            self._joined.broken_s = t_s
            self._joined.apply(t_s, order)

    def _is_down(self, t_s: float, name: str) -> bool:
        """Whether its controller is off; when it comes back, it knows nothing but the formation and STOP."""
        if self.world.faults.controller_down(name, t_s):
            self._down.add(name)
            self._link.receive(t_s, name)  # nobody listens
            return True
        if name in self._down:
            self._down.remove(name)
            if self._restart is None:
                raise ShoalError("condition: a fault of kind 'reboot'; expected a task whose controllers can restart")
            stop, self.runtimes[name] = self.runtimes[name].stop, self._restart(name)
            self.runtimes[name].stop, self._stamps[name] = stop, -math.inf
            self._joined.restarted(name, t_s)
            if self._placement is not None:
                self.runtimes[name].on_formation(self._placement)
        return False

    def _direct(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> None:
        if isinstance(self._director, Listening):
            stopped = any(runtime.stop.stopped for runtime in self.runtimes.values())
            self._director.hear(t_s, stopped, self.owners)
        orders = self._director.orders(t_s, odometry)
        self.log.guidance(t_s, orders.issues)
        if orders.joining is not None:
            # Counted on from the present assembly, whoever has changed that last: as the guidance node does.
            counter = max(0, self._joined.joining.counter) + 1
            self._joined.apply(t_s, replace(orders.joining, counter=counter))
            self.docking.settle()
        if orders.docking is not None:
            self.docking.apply(orders.docking)
        for name, message in orders.pilot.items():
            self.runtimes[name].agent.controller.on_pilot(message)
        if orders.placement is not None:
            self._placement = orders.placement
            for runtime in self.runtimes.values():
                runtime.on_formation(orders.placement)
        if orders.stop is not None:
            for runtime in self.runtimes.values():
                if orders.stop == "stop":
                    runtime.on_stop(OPERATOR)
                else:
                    runtime.on_release(runtime.stop.state.counter, OPERATOR)
        if orders.reference is not None and (own := orders.reference.setpoints) is not None:
            self._references.send(t_s, self._echoing(t_s, orders.reference, odometry), own)
            self.log.reference(t_s, orders.reference, own)
        elif orders.reference is not None and self._placement is not None:
            # The formation's setpoints follow from what every vehicle is sent: worked out once for all of them.
            setpoints = FormationSetpoints(self._placement, orders.reference)
            self._references.send(t_s, self._echoing(t_s, orders.reference, odometry), setpoints)
            self.log.reference(t_s, orders.reference, setpoints)

    def _echoing(self, t_s: float, reference: Preview, odometry: Mapping[str, Odometry | None]) -> Preview:
        """With guidance's answers to the odometry, as its node sends them."""
        for name, measured in odometry.items():
            if measured is not None:
                stamp_s = self._clocks.own_s(name, measured.stamp_s)
                if self._heard.get(name, (math.nan, 0.0))[0] != stamp_s:
                    self._heard[name] = stamp_s, t_s
        return replace(reference, heard={n: Echo(stamp, t_s - came) for n, (stamp, came) in self._heard.items()})

    def _deliver(self, t_s: float, name: str, runtime: VehicleRuntime, odometry: Odometry | None) -> None:
        own_s = self._clocks.own_s(name, t_s)
        for reference, setpoints in self._references.arrivals(t_s, name):
            runtime.on_reference(reference, setpoints, own_s)
        if odometry is not None and odometry.stamp_s != self._stamps[name]:
            self._stamps[name] = odometry.stamp_s
            self._joined.memberships[name].on_odometry(self._clocks.stamped(name, odometry), own_s)
        if (scan := self._scans.get(name)) is not None:
            runtime.on_scan(replace(scan, stamp_s=own_s))
        if self.world.docks.all:
            self.docking.deliver(name)
        for arrived_s, plan in self._link.arrivals(t_s, name):
            # Read with the next step, as a node does; those from before the run have been read when they came.
            runtime.on_plan(plan, own_s if arrived_s > 0 else self._clocks.own_s(name, arrived_s))

    def _publish(self, t_s: float, sender: str, command: Command, shares_N: Mapping[str, Array] | None = None) -> None:
        """Thrust to the plant, the plan to the others; both leave when the step has been computed."""
        sent_s, by = t_s + command.compute_s, self._joined.memberships[sender].ownership
        for name, thrust_N in (shares_N or {sender: command.thrust_N}).items():
            self.world.command(name, thrust_N, t_s, sent_s, by)
        plan = self._plan_faults.sent(command.plan, t_s)
        if plan is not None:
            self._link.broadcast(sent_s, sender, plan, self._states)

    def _exchange_first_plans(self, odometry: Mapping[str, Odometry | None]) -> None:
        """Before the run: everybody has stood at its start, and has been sending that, late and lossy as ever."""
        link = self._link.settings
        span_s = link.delay_s + link.jitter_s + ACQUAINTANCE_S
        for k in range(math.ceil(span_s / self._period_s), 0, -1):
            t_s = -k * self._period_s
            for sender, measured in odometry.items():
                if measured is None or self.world.faults.radio_silent(sender, 0.0):
                    continue
                plan = _standing(sender, self._clocks.own_s(sender, t_s), measured)
                self._link.broadcast(t_s, sender, plan, self._states)


def _standing(name: str, t_s: float, odometry: Odometry) -> Plan:
    place, heading = odometry.state[None, POSITION].copy(), np.array([yaw_of(odometry.attitude)])
    return Plan(name, 0, t_s, np.array([t_s]), place, np.zeros((1, 3)), headings_rad=heading)


class SimulatedStopwatch:
    """Read before and after a step: no time passes, or as much as the condition draws."""

    def __init__(self, settings: ControllerTime | None, stream: int) -> None:
        self._t_s, self._running = 0.0, False
        self._draw: Callable[[], float] | None = None
        if settings is not None:
            rng = np.random.default_rng([settings.seed, stream])
            sigma = math.log(settings.p99_ms / settings.median_ms) / 2.3263  # the normal's 99th percentile
            median_s = settings.median_ms * 1e-3
            self._draw = lambda: float(median_s * math.exp(sigma * rng.standard_normal()))

    def __call__(self) -> float:
        if self._draw is not None:
            self._t_s += self._draw() if self._running else 0.0
            self._running = not self._running
        return self._t_s


def stopwatches(condition: Condition, names: tuple[str, ...]) -> dict[str, SimulatedStopwatch]:
    """One for each vehicle."""
    return {name: SimulatedStopwatch(condition.controller_time, i) for i, name in enumerate(names)}
