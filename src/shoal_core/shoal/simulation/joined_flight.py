"""Groups of joined vehicles in the simulator: carries what their members send each other."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import replace

from shoal.fleet.handover import Knowledge
from shoal.fleet.membership import Membership
from shoal.fleet.runtime import VehicleRuntime
from shoal.messages.joining import Joining
from shoal.messages.odometry import Odometry
from shoal.simulation.clocks import VehicleClocks
from shoal.simulation.world import World


class JoinedFlights:
    """`apply` whatever guidance orders; in the water vehicles are joined as they lie, in the belief as drawn."""

    def __init__(self, world: World, runtimes: MutableMapping[str, VehicleRuntime], clocks: VehicleClocks) -> None:
        self._world, self._runtimes, self._clocks = world, runtimes, clocks
        self.joining = Joining(-1)
        self.broken_s: float | None = None  # when a joint was last found to have come apart
        self._believed = {name: runtime.agent.vehicle for name, runtime in runtimes.items()}
        self.memberships = {name: self._member(name, Joining(0)) for name in runtimes}

    def _member(self, name: str, joining: Joining | None) -> Membership:
        return Membership(self._runtimes[name], self._believed, joining)

    def groups(self) -> list[tuple[str, ...]]:
        """Of those that fly as one."""
        return list(dict.fromkeys(m.members for m in self.memberships.values() if m.members))

    def apply(self, t_s: float, joining: Joining) -> None:
        """From now on these joints and no others; an older order is not taken."""
        if joining.counter <= self.joining.counter:
            return
        if self._world.connectors is None:
            self._join_as_ordered(joining)
        else:
            self._world.carry_out(joining)
        self.joining = joining
        known = {name: self._shifted(m.knowledge(), -self._ahead_s(name, t_s)) for name, m in self.memberships.items()}
        for name, member in self.memberships.items():
            own_s, ahead_s = self._clocks.own_s(name, t_s), self._ahead_s(name, t_s)
            for mate, its in known.items():
                if mate != name and (shifted := self._shifted(its, ahead_s)) is not None:
                    member.on_mate_knowledge(mate, shifted, own_s)
            member.on_assembly(joining, own_s)

    def _join_as_ordered(self, joining: Joining) -> None:
        after, world = {j.pair for j in joining.joints}, self._world
        there = {j.pair for j in world.assembly.joints}
        for joint in self.joining.joints:
            if joint.pair not in after and joint.pair in there:
                world.detach(joint.a, joint.b)
        before = {j.pair for j in self.joining.joints}
        for joint in joining.joints:
            if joint.pair not in before and joint.pair not in there:  # a latch may have joined them already
                world.attach(joint.a, joint.b, joint.at_a_m)

    def restarted(self, name: str, t_s: float) -> None:
        """Its controller comes back with an empty memory, and is sent the present assembly."""
        self.memberships[name] = self._member(name, None if self.joining.joints else Joining(0))
        self.memberships[name].on_assembly(self.joining, self._clocks.own_s(name, t_s))

    def relay_odometry(self, name: str, odometry: Mapping[str, Odometry | None]) -> None:
        """A member gets its mates' odometry, before its own."""
        member = self.memberships[name]
        for mate in member.members:
            if mate != name and (measured := odometry[mate]) is not None:
                member.on_mate_odometry(mate, self._clocks.stamped(name, measured))

    def broken(self, up: list[str]) -> Joining | None:
        """What a pilot orders that sees a joint come apart."""
        orders = (self.memberships[name].broken() for name in up if self.memberships[name].flies)
        return next((order for order in orders if order is not None), None)

    def _ahead_s(self, name: str, t_s: float) -> float:
        return self._clocks.own_s(name, t_s) - t_s

    @staticmethod
    def _shifted(known: Knowledge | None, by_s: float) -> Knowledge | None:
        if known is None:
            return None
        odometry = Odometry(known.odometry.stamp_s + by_s, known.odometry.state.copy())
        return replace(known, odometry=odometry)
