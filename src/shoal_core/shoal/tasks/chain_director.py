"""Guidance of a chain: one after the other docks at the last one's port, and what is joined already leads as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import Composite, compose
from shoal.assembly.joints import Assembly, Joint, Pose
from shoal.docking.phases import DockingSettings
from shoal.docking.pilot import level_heading_rad
from shoal.fleet.handover import fused
from shoal.frames import from_yaw, matrix, yaw_of
from shoal.messages.docking import DockingOrder
from shoal.messages.joining import DrawnJoint, Joining
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION
from shoal.simulation.docks import Latch
from shoal.tasks.docking_director import HORIZON_S, DockingDirector
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ChainPlan:
    """What is to happen."""

    leader_port: str  # of everybody but the last
    follower_port: str
    settle_s: float  # from a latch to the next order
    swim_on_s: float
    path: str  # empty: the chain holds


@dataclass(frozen=True)
class Link:
    """One docking that has succeeded."""

    leader: str
    follower: str
    latched_s: float
    latch: Latch | None  # as it was in truth, where that is known


class ChainDirector(DockingDirector):
    """The first one holds its place; the second docks with it, the third with the second, and so on."""

    def __init__(
        self, plan: ChainPlan, vehicles: Mapping[str, Vehicle], names: tuple[str, ...], docking: DockingSettings
    ) -> None:
        super().__init__(plan.path, docking)
        self._plan, self._vehicles, self._names = plan, vehicles, names
        ports = {name: {p.name: p for p in vehicle.ports} for name, vehicle in vehicles.items()}
        self._joints = []  # of the whole chain, as drawn
        for leader, follower in pairwise(names):
            a, b = ports[leader][plan.leader_port], ports[follower][plan.follower_port]
            turn = from_yaw(level_heading_rad(a, b))
            self._joints.append(DrawnJoint(leader, follower, a.place_m, b.place_m, turn))
        self.links: list[Link] = []
        self._joined = self._ordered = 0
        self._origin = Pose(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))  # of the formation
        self._offsets: dict[str, Array] = {}
        self._headings: dict[str, float] = {}
        self._began_s = self._done_s = np.inf

    def on_latch(self, t_s: float, latch: Latch | None = None) -> None:
        """The latch of the docking that was ordered last has closed."""
        joint = self._joints[self._ordered - 1]
        self.links.append(Link(joint.a, joint.b, t_s, latch))

    @property
    def dockings(self) -> tuple[int, int]:
        """Done, and of how many."""
        return len(self.links), len(self._joints)

    def over(self, t_s: float) -> bool:
        """Whether all has been done, or cannot be done any more."""
        return self._given_up or t_s >= self._done_s + self._plan.swim_on_s

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        if not np.isfinite(self._began_s):
            if any(o is None for o in odometry.values()):
                return Orders()
            return self._begin(t_s, odometry)
        if len(self.links) > self._joined:
            return self._join(t_s, odometry)
        waited = not self.links or t_s >= self.links[-1].latched_s + self._plan.settle_s
        if self._ordered == len(self.links) < len(self._joints) and waited:
            return self._next(t_s)
        return Orders(self._reference(t_s)) if self._due(t_s) else Orders()

    def _begin(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        """Everybody holds where it is; the formation's frame is the first one's."""
        self._began_s = t_s
        here = {name: o for name, o in odometry.items() if o is not None}
        first = here[self._names[0]]
        self._origin = Pose(first.position_m.copy(), from_yaw(yaw_of(first.attitude)))
        for name, o in here.items():
            self._place(name, o.position_m, yaw_of(o.attitude))
        return Orders(self._reference(t_s), self._placement(self._names))

    def _next(self, t_s: float) -> Orders:
        joint, p = self._joints[self._ordered], self._plan
        self._ordered += 1
        order = DockingOrder(self._count(), "dock", joint.a, p.leader_port, joint.b, p.follower_port)
        return Orders(self._reference(t_s), docking=order)

    def _join(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        """From here on the chain is one vehicle, believed to be joined as drawn; it stays where it is."""
        self._joined = len(self.links)
        if self._joined == len(self._joints):
            self._done_s = t_s
        drawn = tuple(self._joints[: self._joined])
        whole = self._composite(drawn)
        now = fused(whole, odometry)
        assert now is not None
        states = whole.module_states(now.state)
        for name, state in states.items():
            self._place(name, state[POSITION], yaw_of(state[ATTITUDE]))
        rest = tuple(name for name in self._names if name not in states)
        return Orders(self._reference(t_s), self._placement((*states, *rest)), joining=Joining(self._count(), drawn))

    def _composite(self, drawn: tuple[DrawnJoint, ...]) -> Composite:
        joints = tuple(Joint(j.a, j.b, j.at_a_m, j.at_b_m, j.attitude) for j in drawn)
        assembly = Assembly(dict(self._vehicles), joints)
        return compose(assembly, next(group for group in assembly.groups() if self._names[0] in group))

    def _place(self, name: str, place_m: Array, yaw_rad: float) -> None:
        self._offsets[name] = matrix(self._origin.attitude).T @ (place_m - self._origin.position_m)
        self._headings[name] = yaw_rad - yaw_of(self._origin.attitude)

    def _placement(self, order: tuple[str, ...]) -> Placement:
        return Placement(dict(self._offsets), 1.0, dict(self._headings), yaw_of(self._origin.attitude), order)

    def _reference(self, t_s: float) -> Preview:
        """The formation holds; complete, it follows the path from there."""
        self._sent_s = t_s
        here = self._origin
        return self._from_here(t_s + HORIZON_S, self._done_s, here.position_m, yaw_of(here.attitude))
