"""A vehicle's part in the dockings of its fleet: an order makes it leader or follower, STOP or another one ends it.

The same in the simulator and on ROS, which carry orders, sightings and the status.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from shoal.assembly.composite import Composite
from shoal.docking.phases import DockingSettings, Phase
from shoal.docking.pilot import FollowerPilot, LeaderPilot
from shoal.docking.side import Side, side_of
from shoal.docking.yielding import Yielding
from shoal.errors import ShoalError
from shoal.fleet.runtime import VehicleRuntime
from shoal.messages.docking import ACCEPTED, DockingFeedback, DockingOrder
from shoal.messages.relative_pose import FiducialPose
from shoal.vehicles.ports import Port, PortCamera, mating

IDLE, LEADS = "idle", "leads"  # beside the phases of a follower
CABLE_M = 0.9  # between the ports: as near as that, two exchange what joined vehicles do


def _alone(vehicle: str) -> Composite | None:
    return None


class DockingPart:
    """Puts a pilot into the vehicle's runtime and takes it out again."""

    def __init__(
        self,
        runtime: VehicleRuntime,
        ports: Mapping[str, tuple[Port, ...]],
        settings: DockingSettings | None = None,
        group_of: Callable[[str], Composite | None] = _alone,
    ) -> None:
        """`ports`: of every vehicle of the fleet, as believed. `group_of`: whom a vehicle is joined to, at present."""
        self.runtime, self._ports, self._settings, self._group_of = runtime, ports, settings, group_of
        self.me = runtime.role.name
        self.order: DockingOrder | None = None  # under way, ours
        self.pilot: FollowerPilot | LeaderPilot | None = None
        self.status = DockingFeedback(0, IDLE, 0.0, 0.0, 0.0, 0.0, 0, "")  # `counter`: of the newest order heard
        self.near = ""  # the partner, once it has come near
        self._cancelled = False
        self._yielding: Yielding | None = None
        self._shape: tuple[tuple[str, ...], ...] = ()  # who moves as one on both sides, as the pilot believes

    @property
    def counter(self) -> int:
        """Of the newest order, whoever is meant."""
        return self.status.counter

    @property
    def partner(self) -> str:
        """Whom we dock with, or leave; empty: nobody."""
        return "" if self.pilot is None else self.pilot.other.name

    @property
    def seer(self) -> str:
        """Whose camera watches the way to our side's port: of a group, perhaps a mate's."""
        return self.me if self.pilot is None else self.pilot.own.name

    def on_order(self, order: DockingOrder) -> bool:
        """Whether it was new, and ours. A ShoalError, and what is under way goes on, where it cannot be."""
        if order.counter <= self.counter:
            return False
        self.status = replace(self.status, counter=order.counter, refused="")
        if self.me not in (*self._mates(order.leader), *self._mates(order.follower)):
            return False
        if order.action == "cancel":
            return self._cancel(order)
        yielding = self._negotiation(order)
        try:
            pilot = self._make(order, yielding)
        except ShoalError as error:
            self.status = replace(self.status, refused=str(error))
            raise
        self.end()
        self._yielding = yielding
        self.order, self.pilot, self._cancelled = order, pilot, False
        self._shape = self._shape_of(order)
        phase = LEADS if isinstance(pilot, LeaderPilot) else ACCEPTED
        self.status = DockingFeedback(order.counter, phase, 0.0, 0.0, 0.0, 0.0, 0, "")
        return True

    def _cancel(self, order: DockingOrder) -> bool:
        """Back to the stand-off; once more, and both are let go."""
        if self.order is None or (order.leader, order.follower) != (self.order.leader, self.order.follower):
            return False
        if self._cancelled:
            self.end()
            self.status = replace(self.status, phase=IDLE)
        elif isinstance(self.pilot, FollowerPilot):
            self.pilot.cancel()
        self._cancelled = True
        return True

    def _mates(self, vehicle: str) -> tuple[str, ...]:
        """Who moves as one with it, itself included."""
        group = self._group_of(vehicle) if vehicle in self._ports else None
        return (vehicle,) if group is None else tuple(group.poses)

    def _shape_of(self, order: DockingOrder) -> tuple[tuple[str, ...], ...]:
        leaders, followers = self._mates(order.leader), self._mates(order.follower)
        # Of two that are one the order is about what they are when apart.
        return ((order.leader,), (order.follower,)) if order.leader in followers else (leaders, followers)

    def _negotiation(self, order: DockingOrder) -> Yielding | None:
        """None: who moves stays as ordered. A leader that keeps something else in view cannot come."""
        if order.action != "dock" or order.blind or order.watch_port:
            return None
        return Yielding(order.counter, self.me in self._mates(order.follower))

    def _make(self, order: DockingOrder, yielding: Yielding | None) -> FollowerPilot | LeaderPilot:
        if order.leader == order.follower:
            raise ShoalError(f"docking: '{order.leader}' with itself; expected two vehicles")
        mates = self._mates(order.follower)
        one = order.leader in mates  # joined already, or still: the order is about what they are when apart
        leader = self._side(order.leader, order.leader_port, one)
        follower = self._side(order.follower, order.follower_port, one)
        own, other = (follower, leader) if self.me in follower.senders else (leader, follower)
        if own is follower if yielding is None else yielding.moves:
            now = order if own is follower else _turned(order)
            return FollowerPilot(now, own, other, self._settings, yielding)
        now = order if own is leader else _turned(order)
        return LeaderPilot(now, own, other, self._watching(order, one), yielding)

    def _watching(self, order: DockingOrder, alone: bool) -> PortCamera | None:
        """The camera that the leader keeps on a place."""
        if not order.watch_port:
            return None
        camera = self._side(order.leader, order.watch_port, alone).port.camera
        if camera is None or order.watch_port == order.leader_port:
            raise ShoalError(
                f"docking: watch_port = '{order.watch_port}' of '{order.leader}'; "
                "expected another port than the one that is docked at, with a camera"
            )
        return camera

    def _side(self, vehicle: str, port: str, alone: bool) -> Side:
        if vehicle not in self._ports:
            raise ShoalError(f"docking: '{vehicle}' is unknown; expected one of {', '.join(self._ports)}")
        return side_of(vehicle, self._ports[vehicle], port, None if alone else self._group_of(vehicle))

    def on_sighting(self, sighting: FiducialPose) -> None:
        """What our camera has found of the partner."""
        if self.pilot is not None:
            self.pilot.on_sighting(sighting)

    def on_latch(self) -> None:
        """Our own latch has closed; who the two are from now on is told with the assembly."""
        if isinstance(self.pilot, FollowerPilot):
            self.pilot.latched = True

    def tick(self, members: Collection[str]) -> None:
        """Before each step. `members`: of our group; none: we swim alone."""
        if self.order is None or self.pilot is None:
            return
        joined = {self.order.leader, self.order.follower} <= set(members)
        if self.runtime.stop.stopped:  # nobody goes on with a docking when STOP is released
            self.end()
            self.status = replace(self.status, phase=Phase.FAILED.value, reason="stopped")
        elif joined and self.order.action == "dock":
            self._report(latched=True)
            self.end()
        elif joined:  # told to leave, and the latch has not opened yet
            self.runtime.companion = None
        else:
            if (shape := self._shape_of(self.order)) != self._shape:  # joined to others, or parted, in the meantime
                self._shape, self.pilot = shape, self._make(self.order, self._yielding)
            elif self._yielding is not None and self._yielding.moves != isinstance(self.pilot, FollowerPilot):
                self._take_turns(self.order)
            self.runtime.companion = self.pilot
            self._report()

    def _take_turns(self, order: DockingOrder) -> None:
        """Who has let the other come moves now, or the other way round; what is known of the other stays known."""
        assert self.pilot is not None
        track, self.pilot = self.pilot.track, self._make(order, self._yielding)
        self.pilot.track = track
        phase = ACCEPTED if isinstance(self.pilot, FollowerPilot) else LEADS
        self.status = DockingFeedback(order.counter, phase, 0.0, 0.0, 0.0, 0.0, 0, "")

    def _report(self, latched: bool = False) -> None:
        if self.pilot is None:
            return
        if (apart := self.pilot.relative) is not None:
            gap = mating(self.pilot.own.port, apart.own, self.pilot.other.port, apart.other).gap_m
            self.near = self.partner if float(gap @ gap) < CABLE_M**2 else self.near
        if isinstance(self.pilot, FollowerPilot) and (found := self.pilot.feedback) is not None:
            phase = Phase.LATCHED.value if latched else found.phase
            self.status = replace(found, phase=phase, counter=self.counter, refused=self.status.refused)
        elif latched:
            self.status = replace(self.status, phase=Phase.LATCHED.value)

    def end(self) -> None:
        """We go on by ourselves, or as one; the last word of the status stays."""
        self.order = self.pilot = self._yielding = self.runtime.companion = None
        self.near = ""


def _turned(order: DockingOrder) -> DockingOrder:
    """With leader and follower exchanged."""
    return replace(order, leader=order.follower, leader_port=order.follower_port,
                   follower=order.leader, follower_port=order.leader_port)  # fmt: skip


def spokesman(order: DockingOrder, told: Mapping[str, DockingFeedback]) -> DockingFeedback | None:
    """The word on an order of whoever moves: the follower, or the leader if it has taken over, or who flies its group.

    None: the follower has not answered yet.
    """
    newest = {name: status for name, status in told.items() if status.counter == order.counter}
    moving = [status for status in newest.values() if status.phase not in (IDLE, LEADS, ACCEPTED)]
    return max(moving, key=lambda status: status.tries, default=newest.get(order.follower))
