"""Guidance of a docking: the leader's way, the orders, and one composite once the latch has closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import Composite, compose
from shoal.assembly.joints import Assembly, Joint
from shoal.docking.phases import DockingSettings, Phase
from shoal.docking.pilot import level_heading_rad
from shoal.fleet.handover import fused
from shoal.frames import from_yaw, matrix, yaw_of
from shoal.messages.docking import DockingOrder
from shoal.messages.joining import DrawnJoint, Joining
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.simulation.docks import Latch
from shoal.tasks.docking_director import HORIZON_S, DockingDirector
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """What is to happen."""

    leader: str
    leader_port: str
    follower: str
    follower_port: str
    leader_mps: Array  # (3,) NED
    leader_radps: float
    blind: bool
    swim_on_s: float
    path: str
    undock: bool


class DockDirector(DockingDirector):
    """The leader holds, moves or turns as planned; the follower docks; then both go on as one, and perhaps part."""

    def __init__(
        self, plan: Plan, vehicles: Mapping[str, Vehicle], names: tuple[str, ...], docking: DockingSettings
    ) -> None:
        super().__init__(plan.path, docking)
        self._plan, self._names = plan, names
        ports = {name: {p.name: p for p in vehicle.ports} for name, vehicle in vehicles.items()}
        a, b = ports[plan.leader][plan.leader_port], ports[plan.follower][plan.follower_port]
        turn = from_yaw(level_heading_rad(a, b))
        self._joint = DrawnJoint(plan.leader, plan.follower, a.place_m, b.place_m, turn)
        drawn = Joint(plan.leader, plan.follower, a.place_m, b.place_m, turn)
        group = tuple(name for name in names if name in (plan.leader, plan.follower))
        self._composite: Composite = compose(Assembly(dict(vehicles), (drawn,)), group)
        self.latched_s: float | None = None
        self.latch: Latch | None = None  # as it was in truth, where that is known
        self.parted_s: float | None = None
        self._begun = self._joined = False
        self._origin_m, self._origin_rad, self._from_s = np.zeros(3), 0.0, 0.0

    def on_latch(self, t_s: float, latch: Latch | None = None) -> None:
        """The latch has closed."""
        self.latched_s, self.latch = t_s, latch

    @property
    def dockings(self) -> tuple[int, int]:
        """Done, and of how many."""
        return int(self.latched_s is not None), 1

    def over(self, t_s: float) -> bool:
        """Whether all has been done, or cannot be done any more."""
        if self._given_up:
            return True
        if self.latched_s is None or t_s < self.latched_s + self._plan.swim_on_s:
            return False
        cleared = self.feedback is not None and self.feedback.phase == Phase.CLEAR.value
        return not self._plan.undock or (self.parted_s is not None and cleared)

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        p = self._plan
        if not self._begun:
            if any(o is None for o in odometry.values()):
                return Orders()
            return self._begin(t_s, odometry)
        if self.latched_s is not None and not self._joined:
            return self._join(t_s, odometry)
        if self._joined and p.undock and self.parted_s is None and t_s >= self._from_s + p.swim_on_s:
            return self._part(t_s, odometry)
        return Orders(self._reference(t_s)) if self._due(t_s) else Orders()

    def _begin(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        self._begun = True
        orders = self._alone(t_s, odometry)
        p = self._plan
        order = DockingOrder(self._count(), "dock", p.leader, p.leader_port, p.follower, p.follower_port, p.blind)
        return replace(orders, docking=order)

    def _alone(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        """Everybody at its own place, from where the leader is now."""
        here = {name: o for name, o in odometry.items() if o is not None}
        leader = here[self._plan.leader]
        self._origin_m, self._origin_rad, self._from_s = leader.position_m.copy(), yaw_of(leader.attitude), t_s
        headings = {name: yaw_of(o.attitude) - self._origin_rad for name, o in here.items()}
        back = from_yaw(-self._origin_rad)
        offsets = {name: _turned(back, o.position_m - self._origin_m) for name, o in here.items()}
        placement = Placement(offsets, 1.0, headings, self._origin_rad, self._names)
        return Orders(self._reference(t_s), placement)

    def _join(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        """From here on one vehicle, believed to be joined as drawn."""
        whole = fused(self._composite, odometry)
        assert whole is not None
        self._joined, self._from_s = True, t_s
        self._origin_m, self._origin_rad = whole.position_m.copy(), yaw_of(whole.attitude)
        members = tuple(self._composite.poses)
        poses = self._composite.poses  # everybody keeps its place in the whole
        offsets = {name: poses[name].position_m if name in poses else np.zeros(3) for name in self._names}
        headings = {name: yaw_of(poses[name].attitude) if name in poses else 0.0 for name in self._names}
        placement = Placement(offsets, 1.0, headings, self._origin_rad, members)
        return Orders(self._reference(t_s), placement, joining=Joining(self._count(), (self._joint,)))

    def _part(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        p, self.parted_s = self._plan, t_s
        orders = self._alone(t_s, odometry)
        joining = Joining(self._count(), ())
        order = DockingOrder(self._count(), "undock", p.leader, p.leader_port, p.follower, p.follower_port)
        return replace(orders, joining=joining, docking=order)

    def _reference(self, t_s: float) -> Preview:
        """The leader's way, or that of both."""
        self._sent_s = t_s
        times_s, p = t_s + HORIZON_S, self._plan
        if self._joined and self.parted_s is None:
            return self._from_here(times_s, self._from_s, self._origin_m, self._origin_rad)
        since_s, moving = times_s - self._from_s, self.parted_s is None
        velocity = p.leader_mps if moving else np.zeros(3)
        rate = p.leader_radps if moving else 0.0
        places = self._origin_m + since_s[:, None] * velocity
        return Preview(times_s, places, np.tile(velocity, (len(times_s), 1)), self._origin_rad + rate * since_s)


def _turned(attitude: Array, vector: Array) -> Array:
    return np.asarray(matrix(attitude) @ vector)
