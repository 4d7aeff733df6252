"""A vehicle's part in a joined group. One member flies the composite; the others relay, and are ready to take over.

All of it is the same in the simulator and on ROS: both only carry what the members send each other, over the cable that
joined hulls share: odometry, estimates and the pilot's thrust.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import Composite, compose, frame_of
from shoal.assembly.joints import Assembly, Joint, Pose
from shoal.fleet.handover import Knowledge, fused, joined, parted, placed
from shoal.fleet.helm import TAKE_OVER_S, Helm
from shoal.fleet.hull_gaps import Hulls
from shoal.fleet.joint_watch import JointWatch
from shoal.fleet.runtime import VehicleRuntime
from shoal.frames import matrix
from shoal.messages.command import Command
from shoal.messages.joining import DrawnJoint, GroupCommand, Joining, Ownership
from shoal.messages.odometry import Odometry
from shoal.vehicles.description import Vehicle
from shoal.vehicles.hull_points import hull_points_m

Array = NDArray[np.float64]
OLD_S = 1.0  # an estimate of a mate that is older is not used


class Membership:
    """`on_…` whatever arrives, `tick` in place of the runtime's; of a vehicle that swims alone it does nothing else."""

    def __init__(
        self, runtime: VehicleRuntime, vehicles: Mapping[str, Vehicle], joining: Joining | None = None
    ) -> None:
        """`vehicles`: the fleet's as they are believed to be, each alone. `joining`: as far as it is known already."""
        self.runtime, self.me = runtime, runtime.role.name
        self._vehicles = {**vehicles, self.me: runtime.agent.vehicle}
        self.joining = Joining(-1) if joining is None else joining
        self.composite: Composite | None = None
        self.helm: Helm | None = None
        self._odometry: dict[str, Odometry] = {}
        self._known: dict[str, tuple[Knowledge, float]] = {}  # of mates, and when it came
        self._relayed: GroupCommand | None = None  # the pilot's, not yet in our estimate
        self._watches: list[JointWatch] = []
        self._groups: tuple[Joining | None, dict[str, Composite]] = None, {}  # of the whole fleet, as they are joined
        self.approaching = (
            ""  # a vehicle that docks with us: its plans count, and its estimate will when it has latched
        )
        # Whether one that comes late would hear a pilot if there was one. On a network that takes a while.
        self.connected: Callable[[], bool] = lambda: True
        self.runtime.set_hulls(self._hulls({}))

    @property
    def members(self) -> tuple[str, ...]:
        """Of our group, in the order of the composite's inputs; empty: alone."""
        return () if self.composite is None else tuple(self.composite.poses)

    def group_of(self, name: str) -> Composite | None:
        """Whom a vehicle of the fleet is joined to, as far as we know; None: it swims alone."""
        if not any(name in (j.a, j.b) for j in self.joining.joints):
            return None
        if self._groups[0] is not self.joining:
            assembly = Assembly(self._vehicles, tuple(_joint(j) for j in self.joining.joints))
            composites = [compose(assembly, group) for group in assembly.groups() if len(group) > 1]
            self._groups = self.joining, {n: composite for composite in composites for n in composite.poses}
        return self._groups[1].get(name)

    @property
    def mates(self) -> tuple[str, ...]:
        """Whose odometry and estimates are wanted: joined to us, or about to be."""
        near = {n for group in self.joining.partners if self.me in group for n in group} | set(self.members)
        return tuple(sorted((near | {self.approaching}) - {self.me, ""}))

    @property
    def flies(self) -> bool:
        """Whether our commands count; alone they always do."""
        return self.helm is None or self.helm.flies

    @property
    def ownership(self) -> Ownership | None:
        """Whose commands our thrusters obey; None: we have come late, and have heard of nobody yet."""
        if self.helm is None:
            return Ownership(self.me, self.joining.counter)
        return None if self.helm.pilot is None else Ownership(self.helm.pilot, self.joining.counter, self.helm.term)

    # -- what arrives -------------------------------------------------------------------------------------------

    def on_assembly(self, joining: Joining, now_s: float) -> bool:
        """The present assembly; whether it was new. A ShoalError, and no change, where it cannot be.

        Zero is the counter of a plant that has just started, where nobody has ever been joined.
        """
        if joining.counter <= self.joining.counter and joining.counter != 0:
            return False
        late = self.joining.counter < 0
        assembly = Assembly(self._vehicles, tuple(_joint(j) for j in joining.joints))
        groups = [group for group in assembly.groups() if len(group) > 1]
        mine = next((group for group in groups if self.me in group), ())
        ours = tuple(j for j in joining.joints if j.a in mine)
        composite = compose(assembly, mine) if mine else None  # may refuse
        before = tuple(j for j in self.joining.joints if j.a in self.members)
        same = [_numbers(j) for j in ours] == [_numbers(j) for j in before]
        self.joining = joining
        if mine != self.members or not same:
            self._become(composite, mine, now_s, late)
            self._watches = [JointWatch(joint) for joint in ours]
        self.runtime.on_joining(groups, joining.partners)
        self.runtime.set_hulls(self._hulls({name: assembly.poses(group) for group in groups for name in group}))
        return True

    def _hulls(self, joined: Mapping[str, Mapping[str, Pose]]) -> Hulls:
        """Everybody's points; `joined`: by name the poses of all in its group. Its plan is of the group's own frame."""
        found = {}
        for name, vehicle in self._vehicles.items():
            found[name] = hull_points_m(vehicle)
            if name in joined:
                in_first = joined[name]
                frame = frame_of(in_first, {mate: self._vehicles[mate] for mate in in_first})
                found[name] = np.vstack(
                    [_seen_from(frame, pose, hull_points_m(self._vehicles[mate])) for mate, pose in in_first.items()]
                )
        return Hulls(found.pop(self.me), found)

    def _become(self, composite: Composite | None, mine: tuple[str, ...], now_s: float, late: bool) -> None:
        known = self.knowledge()
        self.composite, self._relayed = composite, None
        if composite is None:
            self.helm = None
            self.runtime.take_over(self._vehicles[self.me], known and placed(known, self._odometry.get(self.me)))
            self.runtime.set_anchor(None)
            return
        given = {n: k for n, (k, came_s) in self._known.items() if n in mine and abs(now_s - came_s) <= OLD_S}
        whole = joined(composite, self._vehicles, {**given, self.me: known})
        self.helm = Helm(self.me, mine, now_s, listen_first=late)
        self.runtime.take_over(composite.vehicle, whole)
        self.runtime.set_anchor((mine[0], composite.poses[mine[0]]))

    def on_odometry(self, odometry: Odometry, now_s: float) -> None:
        """Our own; of a joined group the mean of all members' counts."""
        if self.composite is None:
            self.runtime.on_odometry(odometry, now_s)
            return
        self._odometry[self.me] = odometry
        if (whole := fused(self.composite, self._odometry)) is not None:
            self.runtime.on_odometry(whole, now_s)
        if self.flies:
            for watch in self._watches:
                watch.see(self._odometry)

    def on_mate_odometry(self, name: str, odometry: Odometry) -> None:
        """Of a member of our group."""
        if odometry.is_finite:
            self._odometry[name] = odometry

    def on_mate_knowledge(self, name: str, known: Knowledge, now_s: float) -> None:
        """What a mate's agent knows of its own vehicle; a sign of life, too."""
        self._known[name] = known, now_s

    def on_command(self, command: GroupCommand, now_s: float) -> Array | None:
        """Thrust of another one that flies: our share of it, for our own thrusters. None: not to be obeyed."""
        composite, helm = self.composite, self.helm
        if composite is None or helm is None or command.counter != self.joining.counter:
            return None
        if len(command.thrust_N) != composite.vehicle.input_count or not np.isfinite(command.thrust_N).all():
            return None
        if not helm.heard(command, now_s):
            return None
        if self.runtime.stop.stopped:
            command = replace(command, thrust_N=np.zeros_like(command.thrust_N))
        self._relayed = command
        return command.thrust_N[composite.inputs[self.me]]

    # -- time ---------------------------------------------------------------------------------------------------

    def tick(self, now_s: float) -> Command | None:
        """A command for all inputs of our group, if we fly and a step was due; else None."""
        if self.helm is None:
            return self.runtime.tick(now_s)
        if self.helm.pilot is None and not self.connected():
            self.helm.wait(now_s)
        self.helm.watch(now_s)
        if self.helm.flies:
            return self.runtime.tick(now_s)
        if self.runtime.due(now_s):
            relayed, self._relayed = self._relayed, None
            thrust_N, sent_s = (None, math.inf) if relayed is None else (relayed.thrust_N, relayed.stamp_s)
            self.runtime.accompany(now_s, thrust_N, sent_s)
        return None

    def group_command(self, command: Command, now_s: float) -> GroupCommand:
        """What the others are sent of a command of ours."""
        assert self.helm is not None
        return GroupCommand(self.me, self.joining.counter, self.helm.term, now_s, command.thrust_N)

    def shares_N(self, thrust_N: Array) -> dict[str, Array]:
        """Every member's part of the group's thrust."""
        if self.composite is None:
            return {self.me: thrust_N}
        return {name: thrust_N[share] for name, share in self.composite.inputs.items()}

    def silent_mates(self, now_s: float) -> tuple[str, ...]:
        """Members whose computer gives no sign of life: whoever flies drives their thrusters itself."""
        return tuple(
            n for n in self.members if n != self.me and now_s - self._known.get(n, (None, -math.inf))[1] > TAKE_OVER_S
        )

    def knowledge(self) -> Knowledge | None:
        """Of our own vehicle alone, joined or not, for our mates."""
        known = self.runtime.agent.knowledge
        if known is None or self.composite is None:
            return known
        return parted(self.composite, self.me, self._vehicles[self.me], known)

    def broken(self) -> Joining | None:
        """The order to give up a joint that has come apart; None: all hold, as far as we can see."""
        gone = next((w for w in self._watches if w.broken), None)
        return None if gone is None else self.joining.without(gone.joint.pair)


def _seen_from(frame: Pose, pose: Pose, points_m: Array) -> Array:
    """Points (P,3) of a module in the composite's frame; both frames are given in that of the first module."""
    own = frame.inverse().then(pose)
    return np.asarray(own.position_m + points_m @ matrix(own.attitude).T)


def _numbers(drawn: DrawnJoint) -> tuple[object, ...]:
    return drawn.a, drawn.b, *drawn.at_a_m.tolist(), *drawn.at_b_m.tolist(), *drawn.attitude.tolist()


def _joint(drawn: DrawnJoint) -> Joint:
    return Joint(drawn.a, drawn.b, drawn.at_a_m, drawn.at_b_m, drawn.attitude)
