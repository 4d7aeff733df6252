"""Docking in the simulator: orders become pilots of two runtimes, sightings and latches reach them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from shoal.docking.phases import DockingSettings
from shoal.docking.pilot import FollowerPilot, LeaderPilot, Pilot, Side
from shoal.errors import ShoalError
from shoal.fleet.runtime import VehicleRuntime
from shoal.messages.docking import DockingFeedback, DockingOrder
from shoal.messages.relative_pose import FiducialPose
from shoal.simulation.docks import Dock, Latch
from shoal.simulation.world import World
from shoal.vehicles.ports import Port


@runtime_checkable
class HearsOfDocking(Protocol):
    """A director that is told of latches and of the follower's progress."""

    docking: DockingSettings

    def on_latch(self, t_s: float, latch: Latch) -> None:
        """Two ports have latched."""
        ...

    def on_feedback(self, t_s: float, feedback: DockingFeedback) -> None:
        """At every step."""
        ...


class DockingFlight:
    """The one docking that is under way."""

    def __init__(self, world: World, runtimes: Mapping[str, VehicleRuntime], director: object) -> None:
        self._world, self._runtimes = world, runtimes
        self._director = director if isinstance(director, HearsOfDocking) else None
        self._dock: Dock | None = None
        self._order: DockingOrder | None = None
        self._follower: FollowerPilot | None = None
        self._sightings: dict[str, list[FiducialPose]] = {}
        self._reported: Latch | None = None

    def apply(self, order: DockingOrder) -> None:
        """An older order is not taken."""
        if self._order is not None and order.counter <= self._order.counter:
            return
        if order.action == "cancel":
            if self._follower is not None:
                self._follower.cancel()
            return
        self.end()
        self._order = order
        sides = (order.leader, order.leader_port), (order.follower, order.follower_port)
        leader, follower = (Side(name, self._believed(name, port)) for name, port in sides)
        if order.action == "dock":
            self._dock = self._world.docks.open(order.leader, order.leader_port, order.follower, order.follower_port)
        else:
            self._world.docks.release(order.leader, order.follower)
        settings = None if self._director is None else self._director.docking
        self._follower = FollowerPilot(order, follower, leader, settings)
        pilots: dict[str, Pilot] = {order.follower: self._follower, order.leader: LeaderPilot(order, leader, follower)}
        for name, pilot in pilots.items():
            self._runtimes[name].companion = pilot  # type: ignore[assignment]

    def end(self) -> None:
        """Both go on by themselves, or as one."""
        for runtime in self._runtimes.values():
            runtime.companion = None
        self._dock = self._follower = self._order = None

    def tick(self, t_s: float) -> None:
        """Before the vehicles' steps."""
        self._sightings = self._world.docks.sightings(t_s)
        if self._director is None:
            return
        if self._follower is not None and (feedback := self._follower.feedback) is not None:
            self._director.on_feedback(t_s, feedback)
        if self._dock is not None and self._dock.latch is not None and self._dock.latch is not self._reported:
            self._reported = self._dock.latch
            if self._follower is not None:
                self._follower.latched = True
            self._director.on_latch(t_s, self._dock.latch)

    def deliver(self, name: str, runtime: VehicleRuntime) -> None:
        """What its camera has found."""
        if runtime.companion is not None:
            for sighting in self._sightings.get(name, ()):
                runtime.companion.on_sighting(sighting)

    def _believed(self, name: str, port: str) -> Port:
        ports = {p.name: p for p in self._runtimes[name].agent.vehicle.ports}
        if port not in ports:
            known = ", ".join(ports) or "none: its file has no ports"
            raise ShoalError(f"docking: '{name}' has no port '{port}'; expected one of {known}")
        return ports[port]
