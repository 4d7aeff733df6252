"""Docking in the simulator: carries orders, sightings and latches to the vehicles' parts, and their status back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from shoal.docking.part import DockingPart, spokesman
from shoal.docking.phases import DockingSettings
from shoal.fleet.runtime import VehicleRuntime
from shoal.messages.docking import DockingFeedback, DockingOrder
from shoal.messages.relative_pose import FiducialPose
from shoal.simulation.docks import Dock, Latch
from shoal.simulation.joined_flight import JoinedFlights
from shoal.simulation.world import World


@runtime_checkable
class HearsOfDocking(Protocol):
    """A director that is told of latches and of the follower's progress."""

    docking: DockingSettings

    def on_latch(self, t_s: float, latch: Latch | None = None) -> None:
        """Two ports have latched; `latch`: as it was in truth, where that is known."""
        ...

    def on_feedback(self, t_s: float, feedback: DockingFeedback) -> None:
        """At every step."""
        ...


class DockingFlight:
    """The one docking that is under way."""

    def __init__(
        self, world: World, runtimes: Mapping[str, VehicleRuntime], joined: JoinedFlights, director: object
    ) -> None:
        self._world, self._runtimes, self._joined = world, runtimes, joined
        self._director = director if isinstance(director, HearsOfDocking) else None
        self._ports = {name: runtime.agent.vehicle.ports for name, runtime in runtimes.items()}
        self._parts: dict[str, DockingPart] = {}
        self._dock: Dock | None = None
        self._order: DockingOrder | None = None
        self._sightings: dict[str, list[FiducialPose]] = {}
        self._reported: Latch | None = None

    def _part(self, name: str) -> DockingPart:
        """A controller that was started again has forgotten its docking."""
        if name not in self._parts or self._parts[name].runtime is not self._runtimes[name]:
            settings = None if self._director is None else self._director.docking
            group_of = self._joined.memberships[name].group_of
            self._parts[name] = DockingPart(self._runtimes[name], self._ports, settings, group_of)
        return self._parts[name]

    @property
    def order(self) -> DockingOrder | None:
        """The last one that was carried out."""
        return self._order

    def told(self, name: str) -> DockingFeedback:
        """What a vehicle says of its part."""
        return self._part(name).status

    def apply(self, order: DockingOrder) -> None:
        """An older order is not taken."""
        taken = [self._part(name).on_order(order) for name in self._runtimes]
        if not any(taken):
            return
        if order.action == "cancel":
            self._world.docks.disarm(order.leader, order.follower)
            return
        self._order = order
        if order.action == "dock":
            self._dock = self._world.docks.open(order.leader, order.leader_port, order.follower, order.follower_port)

    def tick(self, t_s: float) -> None:
        """Before the vehicles' steps."""
        self._sightings = self._world.docks.sightings(t_s)
        if self._order is None:
            return
        latch = None if self._dock is None else self._dock.latch
        new = latch is not None and latch is not self._reported
        if new:
            for name in self._runtimes:
                self._part(name).on_latch()
        self.settle()
        if self._director is None:
            return
        told = spokesman(self._order, {name: self._part(name).status for name in self._runtimes})
        if told is not None:
            self._director.on_feedback(t_s, told)
        if new:
            self._reported = latch
            self._director.on_latch(t_s, latch)

    def settle(self) -> None:
        """Who has been joined or parted goes on as it is now."""
        for name in self._parts:
            self._part(name).tick(self._joined.memberships[name].members)

    def deliver(self, name: str) -> None:
        """What its camera has found; within a group, over the cable, a mate's."""
        for sighting in self._sightings.get(self._part(name).seer, ()):
            self._part(name).on_sighting(sighting)
