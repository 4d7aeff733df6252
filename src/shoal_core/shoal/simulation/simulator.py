"""The lock-step simulator: one world, one runtime per vehicle, messages between them. Deterministic for a seed.

It carries messages and nothing else: what a vehicle knows, it was sent. Time stands still while a controller computes,
unless the condition says how long that takes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.link import Link
from shoal.fleet.reference_tracker import FormationSetpoints
from shoal.fleet.runtime import VehicleRuntime
from shoal.messages.command import Command
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.placement import Placement
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording
from shoal.simulation.conditions import Condition, ControllerTime
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
    ) -> None:
        """`acquainted`: the vehicles have been there for a while, at rest, exchanging plans over the same link."""
        self.world, self.runtimes, self._director = world, runtimes, director
        self._period_s, self._acquainted = control_period_s, acquainted
        condition = world.condition
        self._link = Link(condition.link, np.random.default_rng([seed, 4]))
        self._references = ReferenceChannel(condition.reference, tuple(runtimes), np.random.default_rng([seed, 6]))
        self._placement: Placement | None = None
        self._setpoints: Mapping[str, Preview] | None = None
        steps = round(duration_s / control_period_s)
        thrusters = {name: len(r.agent.vehicle.thrusters) for name, r in runtimes.items()}
        self.log = RunLog(steps + 1, thrusters, world, control_period_s, record_plans_every_s)
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

    def recording(self) -> Recording:
        """What happened so far."""
        return self.log.recording(self._placement)

    # -- one tick -----------------------------------------------------------------------------------------------

    def _tick(self, k: int, t_s: float) -> None:
        odometry = self.world.measure()
        self._states = dict(zip(self.runtimes, self.world.states, strict=True))
        if k == 0 and self._acquainted:
            self._exchange_first_plans(odometry)
        self._direct(t_s, odometry)
        self.log.begin(k, t_s)
        for i, (name, runtime) in enumerate(self.runtimes.items()):
            self._deliver(t_s, name, runtime, odometry[name])
            started = time.perf_counter()
            command = runtime.tick(t_s)
            elapsed_ms = (time.perf_counter() - started) * 1e3
            if command is not None:
                self._publish(t_s, name, command)
            self.log.vehicle(k, i, name, t_s, odometry[name], command or runtime.last, elapsed_ms)
        self.world.step(self._period_s)

    def _direct(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> None:
        orders = self._director.orders(t_s, odometry)
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
        if orders.reference is not None and self._placement is not None:
            # The formation's setpoints follow from what every vehicle is sent: worked out once for all of them.
            setpoints = FormationSetpoints(self._placement, orders.reference)
            self._references.send(t_s, orders.reference, setpoints)
            self.log.reference(t_s, orders.reference, setpoints)

    def _deliver(self, t_s: float, name: str, runtime: VehicleRuntime, odometry: Odometry | None) -> None:
        for reference, setpoints in self._references.arrivals(t_s, name):
            runtime.on_reference(reference, setpoints)
        if odometry is not None and odometry.stamp_s != self._stamps[name]:
            self._stamps[name] = odometry.stamp_s
            runtime.on_odometry(odometry, t_s)
        for plan in self._link.receive(t_s, name):
            runtime.on_plan(plan, t_s)

    def _publish(self, t_s: float, sender: str, command: Command) -> None:
        """Thrust to the plant, the plan to the others; both leave when the step has been computed."""
        sent_s = t_s + command.compute_s
        self.world.command(sender, command.thrust_N, t_s, sent_s)
        if self.world.faults and self.world.faults.radio_silent(sender, t_s):
            return
        self._link.broadcast(sent_s, sender, command.plan, self._states)

    def _exchange_first_plans(self, odometry: Mapping[str, Odometry | None]) -> None:
        """Before the run: everybody has stood at its start, and has been sending that, late and lossy as ever."""
        link = self._link.settings
        span_s = link.delay_s + link.jitter_s + ACQUAINTANCE_S
        for k in range(math.ceil(span_s / self._period_s), 0, -1):
            t_s = -k * self._period_s
            for sender, measured in odometry.items():
                if measured is None or self.world.faults.radio_silent(sender, 0.0):
                    continue
                self._link.broadcast(t_s, sender, _standing(sender, t_s, measured), self._states)


def _standing(name: str, t_s: float, odometry: Odometry) -> Plan:
    return Plan(name, 0, t_s, np.array([t_s]), odometry.state[None, POSITION].copy(), np.zeros((1, 3)))


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
