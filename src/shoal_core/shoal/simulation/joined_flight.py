"""Groups of joined vehicles, each flown by one member's runtime: the simulator's side of joining and parting."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import Composite, compose
from shoal.assembly.joints import Assembly, Joint
from shoal.fleet.handover import Helm, Knowledge, joined, parted
from shoal.fleet.runtime import VehicleRuntime
from shoal.messages.joining import DrawnJoint, Joining
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement, turned
from shoal.simulation.clocks import VehicleClocks
from shoal.simulation.world import World
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Flight:
    """A group as it is believed to be: modules as described, joints as drawn."""

    composite: Composite
    helm: Helm

    @property
    def members(self) -> tuple[str, ...]:
        """In the order of the composite's inputs."""
        return self.helm.members


class JoinedFlights:
    """`apply` whatever guidance orders; in the water vehicles are joined as they lie, in the belief as drawn."""

    def __init__(self, world: World, runtimes: MutableMapping[str, VehicleRuntime], clocks: VehicleClocks) -> None:
        self._world, self._runtimes, self._clocks = world, runtimes, clocks
        self.flights: dict[tuple[str, ...], Flight] = {}
        self._joining = Joining(-1)
        self._alone: dict[str, Vehicle] = {}  # what each believes of itself, while it is joined

    def of(self, name: str) -> Flight | None:
        """The group that a vehicle belongs to."""
        return next((flight for members, flight in self.flights.items() if name in members), None)

    def apply(self, t_s: float, joining: Joining) -> None:
        """From now on these joints and no others; an older order is not taken."""
        if joining.counter <= self._joining.counter:
            return
        before, after = {j.pair for j in self._joining.joints}, {j.pair for j in joining.joints}
        for joint in self._joining.joints:
            if joint.pair not in after:
                self._world.detach(joint.a, joint.b)
        for joint in joining.joints:
            if joint.pair not in before:
                self._world.attach(joint.a, joint.b, joint.at_a_m)
        self._joining = joining
        believed = {n: self._alone.get(n) or r.agent.vehicle for n, r in self._runtimes.items()}
        assembly = Assembly(believed, tuple(_joint(j) for j in joining.joints))
        wanted = [group for group in assembly.groups() if len(group) > 1]
        for members in [m for m in self.flights if m not in wanted]:
            self._part(self.flights.pop(members))
        for group in wanted:
            if group not in self.flights:
                self._join(t_s, compose(assembly, group), believed)
        for runtime in self._runtimes.values():
            runtime.on_joining(wanted, joining.partners)

    def restarted(self, name: str) -> None:
        """Its controller comes back with an empty memory, and is sent the present assembly."""
        runtime, flight = self._runtimes[name], self.of(name)
        runtime.on_joining(list(self.flights), self._joining.partners)
        if flight is not None:
            runtime.take_over(flight.composite.vehicle, None)

    def shown(self, placement: Placement) -> Placement:
        """With the places of the modules, not of the groups."""
        if not self.flights or placement.headings_rad is None or not isinstance(placement.radius_m, int | float):
            return placement
        offsets, headings = dict(placement.offsets), dict(placement.headings_rad)
        for flight in self.flights.values():
            for name, pose in flight.composite.poses.items():
                arm = turned(pose.position_m[None], headings[name])[0] / placement.radius_m
                offsets[name] = offsets[name] + arm
        return replace(placement, offsets=offsets)

    def _join(self, t_s: float, composite: Composite, believed: dict[str, Vehicle]) -> None:
        """Every member gets the same description and estimate, so that any of them can fly."""
        members = tuple(composite.poses)
        known = {name: self._known(t_s, name) for name in members}
        whole = joined(composite, believed, known)
        for name in members:
            self._alone[name] = believed[name]
            own = None if whole is None else _shifted(whole, self._ahead_s(name, t_s))
            self._runtimes[name].take_over(composite.vehicle, own)
        self.flights[members] = Flight(composite, Helm(members))

    def _part(self, flight: Flight) -> None:
        """Everybody takes over itself, from its own estimate of the whole."""
        for name in flight.members:
            runtime, vehicle = self._runtimes[name], self._alone.pop(name)
            known = runtime.agent.knowledge
            runtime.take_over(vehicle, known and parted(flight.composite, name, vehicle, known))

    def _known(self, t_s: float, name: str) -> Knowledge | None:
        known = self._runtimes[name].agent.knowledge
        return None if known is None else _shifted(known, -self._ahead_s(name, t_s))

    def _ahead_s(self, name: str, t_s: float) -> float:
        return self._clocks.own_s(name, t_s) - t_s


def _shifted(known: Knowledge, by_s: float) -> Knowledge:
    odometry = Odometry(known.odometry.stamp_s + by_s, known.odometry.state.copy())
    return replace(known, odometry=odometry)


def _joint(drawn: DrawnJoint) -> Joint:
    return Joint(drawn.a, drawn.b, drawn.at_a_m, drawn.at_b_m, drawn.attitude)
