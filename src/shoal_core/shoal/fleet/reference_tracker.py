"""Where to go: the common setpoint and the formation, made into one's own setpoint; without them, where one is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from shoal.assembly.joints import Pose
from shoal.fleet.clock_skew import ClockSkew
from shoal.frames import yaw_of
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.odometry import Odometry
from shoal.messages.placement import FormationMotion, Placement, turned
from shoal.messages.preview import Preview

AHEAD_S = 1.0  # a stamp further in the future is from before the clock went back


class FormationSetpoints(Mapping[str, Preview]):
    """Where the formation has each vehicle, worked out for those that are asked for, once for each reference."""

    def __init__(self, placement: Placement, reference: Preview) -> None:
        self._placement, self._reference = placement, reference
        self._made: dict[str, Preview] = {}
        self._motion: FormationMotion | None = None

    def __getitem__(self, name: str) -> Preview:
        if name not in self._made:
            if name not in self._placement.offsets:
                raise KeyError(name)
            if self._motion is None:
                self._motion = self._placement.motion(self._reference)
            self._made[name] = self._placement.setpoint(name, self._reference, self._motion)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._placement.offsets

    def __iter__(self) -> Iterator[str]:
        return iter(self._placement.offsets)

    def __len__(self) -> int:
        return len(self._placement.offsets)


class _Without(Mapping[str, Preview]):
    """The same without some."""

    def __init__(self, whole: Mapping[str, Preview], names: Iterable[str]) -> None:
        self._whole, self._left_out = whole, frozenset(names)

    def __getitem__(self, name: str) -> Preview:
        if name in self._left_out:
            raise KeyError(name)
        return self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._whole if name not in self._left_out)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _InOurClock(Mapping[str, Preview]):
    """The same with other times. Last of all: a formation that grows by a timetable has guidance's times in it."""

    def __init__(self, whole: Mapping[str, Preview], skew_s: float) -> None:
        self._whole, self._skew_s = whole, skew_s
        self._made: dict[str, Preview] = {}

    def __getitem__(self, name: str) -> Preview:
        if name not in self._made:
            self._made[name] = self._whole[name].shifted(self._skew_s)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


class ReferenceTracker:
    """Keeps the newest reference and formation."""

    def __init__(self, name: str, timeout_s: float, must_see: frozenset[str] = frozenset()) -> None:
        """`timeout_s`: an older reference is not followed. `must_see`: until a formation says otherwise."""
        self._name, self._timeout_s, self._must_see = name, timeout_s, must_see
        self._reference: Preview | None = None
        self._placement: Placement | None = None
        self._setpoints: Mapping[str, Preview] | None = None
        self._held: Preview | None = None
        self._following: Directive | None = None  # until something changes
        self._anchor: tuple[str, Pose] | None = None
        # References and odometry go different ways: nothing says that both are equally slow.
        self._clock = ClockSkew(symmetric=False, latest_s=timeout_s)

    def clear(self) -> None:
        """The clock went back; the formation has no times and stays."""
        self._reference, self._setpoints, self._held, self._following = None, None, None, None
        self._clock = ClockSkew(symmetric=False, latest_s=self._timeout_s)

    @property
    def skew_s(self) -> float:
        """What is added to guidance's times; zero while its clock agrees with ours."""
        return self._clock.skew_s

    def on_reference(
        self, reference: Preview, setpoints: Mapping[str, Preview] | None = None, now_s: float | None = None
    ) -> None:
        """A new preview; it begins when it was made. `setpoints`: the formation's, if somebody has them already."""
        setpoints = reference.setpoints if setpoints is None else setpoints
        if now_s is not None:
            self._clock.message(now_s, float(reference.times_s[0]), reference.heard.get(self._name))
        self._reference, self._setpoints, self._following = reference, setpoints, None

    def on_formation(self, placement: Placement) -> None:
        """A new formation."""
        own = None if self._reference is None else self._reference.setpoints  # tracks need no formation
        self._placement, self._setpoints, self._following = placement, own, None
        self._must_see = placement.must_see(self._name)

    def set_anchor(self, anchor: tuple[str, Pose] | None) -> None:
        """Joined: the whole goes where the formation has this module, which lies so in the whole. None: alone."""
        self._anchor, self._following, self._held = anchor, None, None

    @property
    def _placed(self) -> str:
        """Whose place in the formation is ours."""
        return self._name if self._anchor is None else self._anchor[0]

    def directive(
        self, t_s: float, odometry: Odometry | None, without: Iterable[str]
    ) -> tuple[Directive, Issue | None]:
        """Follow, or hold with the reason. `without`: neighbours not assumed to return to their places."""
        issue = self.missing(t_s)
        if issue is not None:
            return Directive("hold", self._hold(t_s, odometry), self._must_see), issue
        self._held = None
        assert self._placement is not None and self._reference is not None
        if self._setpoints is None:
            self._setpoints = FormationSetpoints(self._placement, self._reference)
        if self._following is None:
            setpoints, common = self._setpoints, self._reference
            if self._clock.skew_s != 0.0:
                setpoints, common = _InOurClock(setpoints, self._clock.skew_s), common.shifted(self._clock.skew_s)
            own = setpoints[self._placed]
            if self._anchor is not None:
                own = _of_the_whole(own, self._anchor[1])
            self._following = Directive("follow", own, self._must_see, setpoints, common)
        if without:
            others = _Without(self._following.formation_setpoints, without)
            return replace(self._following, formation_setpoints=others), None
        return self._following, None

    def missing(self, t_s: float) -> Issue | None:
        """Why we cannot follow."""
        if self._reference is None:
            return Issue(Code.NO_REFERENCE, Severity.WARNING)
        age_s = t_s - float(self._reference.times_s[0]) - self._clock.skew_s
        if age_s > self._timeout_s or age_s < -AHEAD_S:
            return Issue(Code.STALE_REFERENCE, Severity.WARNING, value=age_s)
        if self._placement is None:
            return Issue(Code.NO_FORMATION, Severity.WARNING)
        places = self._placement.offsets if not self._reference.tracks else self._reference.tracks
        known = self._placed in places
        return None if known else Issue(Code.NOT_IN_FORMATION, Severity.WARNING)

    def _hold(self, t_s: float, odometry: Odometry | None) -> Preview:
        """Where we were when holding began."""
        if self._held is None:
            if odometry is None or not odometry.is_finite:
                return Preview(np.array([t_s]), np.full((1, 3), math.nan), np.zeros((1, 3)))
            yaw = np.array([yaw_of(odometry.attitude)])
            self._held = Preview(np.array([t_s]), odometry.position_m[None].copy(), np.zeros((1, 3)), yaw)
        return self._held


def _of_the_whole(module: Preview, pose: Pose) -> Preview:
    """Where a joined group has to be for one of its modules, at `pose` in it, to be at its place; level."""
    if module.headings_rad is None:  # nobody says how it is turned
        return module
    headings = np.unwrap(module.headings_rad) - yaw_of(pose.attitude)
    arm = turned(np.broadcast_to(pose.position_m, (len(headings), 3)), headings)
    velocity = module.velocities_mps
    if len(headings) > 1 and not (headings == headings[0]).all():
        rate = np.gradient(headings, module.times_s, edge_order=2 if len(headings) > 2 else 1)
        velocity = velocity - rate[:, None] * np.stack([-arm[:, 1], arm[:, 0], np.zeros(len(rate))], axis=1)
    return replace(module, positions_m=module.positions_m - arm, velocities_mps=velocity, headings_rad=headings)
