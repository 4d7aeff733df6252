"""Modules and the rigid joints between them: a graph, loops allowed. Joining or parting gives a new value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.frames import matrix, multiply
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
CLOSURE_M, CLOSURE_RAD = 1e-6, 1e-6  # how exactly a drawn loop has to close


@dataclass(frozen=True)
class Joint:
    """A rigid joint: a point that both modules share, and how B is turned against A."""

    a: str
    b: str
    at_a_m: Array  # (3,) the shared point in A's body frame
    at_b_m: Array  # (3,) the same point in B's
    attitude: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))  # of B in A: R_B = R_A R(attitude)

    @property
    def pair(self) -> frozenset[str]:
        """Whom it joins."""
        return frozenset((self.a, self.b))

    @property
    def pose(self) -> Pose:
        """Of B's body frame in A's."""
        return Pose(self.at_a_m - matrix(self.attitude) @ self.at_b_m, self.attitude)

    @staticmethod
    def between(a: str, b: str, state_a: Array, state_b: Array, at_a_m: Array) -> Joint:
        """Two modules as they lie, joined at a point of A: whatever gap and angle there is stays."""
        to_a = matrix(state_a[ATTITUDE]).T
        point_ned = state_a[POSITION] + to_a.T @ at_a_m
        at_b = matrix(state_b[ATTITUDE]).T @ (point_ned - state_b[POSITION])
        return Joint(
            a, b, np.asarray(at_a_m, dtype=float), at_b, multiply(_conjugate(state_a[ATTITUDE]), state_b[ATTITUDE])
        )


@dataclass(frozen=True)
class Pose:
    """A body frame in another one."""

    position_m: Array  # (3,)
    attitude: Array  # (4,) body to the other frame

    def then(self, inner: Pose) -> Pose:
        """The pose of a frame that lies at `inner` in this one."""
        attitude = multiply(self.attitude, inner.attitude)
        return Pose(self.position_m + matrix(self.attitude) @ inner.position_m, attitude / np.linalg.norm(attitude))

    def inverse(self) -> Pose:
        """Of the other frame in this one."""
        back = _conjugate(self.attitude)
        return Pose(-(matrix(back) @ self.position_m), back)

    def twist(self) -> Array:
        """T (6,6): ν of this frame = T ν of the other one, both body-fixed (Boogmans 2021, 4.13–4.20)."""
        x, y, z = self.position_m.tolist()
        lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        turn = matrix(self.attitude).T
        return np.block([[turn, -turn @ lever], [np.zeros((3, 3)), turn]])


SAME = Pose(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


@dataclass(frozen=True)
class Assembly:
    """Who swims, and what is joined to what."""

    modules: Mapping[str, Vehicle]
    joints: tuple[Joint, ...] = ()

    def __post_init__(self) -> None:
        for joint in self.joints:
            for name in (joint.a, joint.b):
                if name not in self.modules:
                    raise ShoalError(
                        f"joints: '{name}' is not a module; expected one of {', '.join(sorted(self.modules))}"
                    )
            if joint.a == joint.b:
                raise ShoalError(f"joints: '{joint.a}' is joined to itself; expected two different modules")
        for group in self.groups():
            self.poses(group)  # every loop closes

    def attach(self, joint: Joint) -> Assembly:
        """One joint more."""
        return replace(self, joints=(*self.joints, joint))

    def detach(self, a: str, b: str) -> Assembly:
        """Without any joint between these two."""
        kept = tuple(j for j in self.joints if j.pair != {a, b})
        if len(kept) == len(self.joints):
            raise ShoalError(f"detach: '{a}' and '{b}' are not joined; expected a pair that is")
        return replace(self, joints=kept)

    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Sets of modules that move as one, singles included, in the order of `modules`."""
        return self._groups

    @cached_property
    def _groups(self) -> tuple[tuple[str, ...], ...]:
        root = {name: name for name in self.modules}

        def find(name: str) -> str:
            while root[name] != name:
                name = root[name]
            return name

        for joint in self.joints:
            root[find(joint.b)] = find(joint.a)
        found: dict[str, list[str]] = {}
        for name in self.modules:
            found.setdefault(find(name), []).append(name)
        return tuple(tuple(members) for members in found.values())

    def tree(self, group: Iterable[str]) -> tuple[Joint, ...]:
        """Joints of a spanning tree, from the first module outwards; each joint's far end is new."""
        members = list(group)
        reached, waiting, chosen = {members[0]}, [members[0]], []
        while waiting:
            here = waiting.pop(0)
            for joint in self.joints:
                other = joint.b if joint.a == here else joint.a if joint.b == here else None
                if other is not None and other in members and other not in reached:
                    reached.add(other)
                    waiting.append(other)
                    chosen.append(joint)
        return tuple(chosen)

    def poses(self, group: Iterable[str]) -> dict[str, Pose]:
        """Every module's body frame in the first one's. A joint that closes a loop must agree with the others."""
        members = list(group)
        found = {members[0]: SAME}
        for joint in self.tree(members):
            if joint.a in found:
                found[joint.b] = found[joint.a].then(joint.pose)
            else:
                found[joint.a] = found[joint.b].then(joint.pose.inverse())
        if len(found) != len(members):
            missing = ", ".join(sorted(set(members) - set(found)))
            raise ShoalError(f"joints: nothing joins {missing} to '{members[0]}'; expected one connected assembly")
        for joint in self.joints:
            if joint.a in found and joint.b in found:
                _check_closure(joint, found)
        return found


def _check_closure(joint: Joint, poses: Mapping[str, Pose]) -> None:
    wanted = poses[joint.a].then(joint.pose)
    gap_m = float(np.linalg.norm(wanted.position_m - poses[joint.b].position_m))
    turn_rad = 2 * float(np.arccos(min(1.0, abs(float(wanted.attitude @ poses[joint.b].attitude)))))
    # arccos near one resolves no better than the square root of the rounding error
    if gap_m > CLOSURE_M or turn_rad > max(CLOSURE_RAD, 4e-8):
        raise ShoalError(
            f"joints: {joint.a} to {joint.b} is {gap_m:.3g} m and {np.degrees(turn_rad):.3g}° off what the other "
            "joints give; expected a loop that closes"
        )


def _conjugate(q: Array) -> Array:
    w, x, y, z = q.tolist()
    return np.array([w, -x, -y, -z])
