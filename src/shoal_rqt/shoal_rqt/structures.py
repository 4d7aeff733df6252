"""What vehicles are to each other beyond a formation: joined, docking, part of a platform. No Qt, no ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.docking.part import IDLE, LEADS, spokesman
from shoal.docking.phases import Phase
from shoal.messages.docking import DockingFeedback, DockingOrder
from shoal.messages.joining import Joining
from shoal_rqt import updates as n
from shoal_rqt.platform_status import MEMBER, WAITING, PlatformStatus

QUIET = ("", IDLE, Phase.LATCHED.value, Phase.FAILED.value, Phase.CLEAR.value)  # nothing is under way in these
TROUBLE = (Phase.ABORT.value, Phase.FAILED.value)


class Structures:
    """Filled by the model with what comes; `tell` gets a level and a line for the operator."""

    def __init__(self, tell: Callable[[int, str], None]) -> None:
        self._tell = tell
        self.joining = Joining(0)
        self.docking: dict[str, DockingFeedback] = {}  # by vehicle
        self.order: DockingOrder | None = None  # the newest that was heard
        self.platform: PlatformStatus | None = None
        self.levels: dict[str, str] = {}  # by vehicle, where an autopilot flies it
        self.handlers: dict[type, Callable[[Any, float], None]] = {
            n.AssemblyUpdate: self._joined, n.DockingOrderUpdate: self._ordered, n.DockingUpdate: self._docking_went_on,
            n.PlatformUpdate: self._platform_went_on, n.LevelsUpdate: self._level,
        }  # fmt: skip

    # -- derived -----------------------------------------------------------------------------------------------

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Vehicles that move as one, in the order of the joints."""
        found: list[list[str]] = []
        for joint in self.joining.joints:
            touched = [g for g in found if joint.a in g or joint.b in g]
            members = [m for g in touched for m in g]
            members += [name for name in (joint.a, joint.b) if name not in members]
            found = [g for g in found if g not in touched] + [members]
        return tuple(tuple(g) for g in found)

    def mates_of(self, vehicle: str) -> tuple[str, ...]:
        """All others of its group."""
        return tuple(m for g in self.groups if vehicle in g for m in g if m != vehicle)

    def may_be_near(self, a: str, b: str) -> bool:
        """Whether these two are meant to touch, so that limits of free vehicles mean nothing between them."""
        if b in self.mates_of(a) or any(a in p and b in p for p in self.joining.partners):
            return True
        order = self.order
        return order is not None and {a, b} == {order.leader, order.follower} and self.docking_now

    def feedback(self) -> DockingFeedback | None:
        """The word of whoever moves on the newest order; None: nobody has answered."""
        if self.order is None or (told := spokesman(self.order, self.docking)) is not None:
            return None if self.order is None else told
        later = self.docking.get(self.order.follower)
        return later if later is not None and later.counter > self.order.counter else None

    @property
    def docking_now(self) -> bool:
        """Whether two are on the way to each other, or away."""
        told = self.feedback()
        return told is not None and told.phase not in QUIET

    def part_of(self, vehicle: str) -> str:
        """Its part in what is under way, for a line of its card; empty: it swims alone."""
        words = []
        if mates := self.mates_of(vehicle):
            words.append(f"joined to {', '.join(mates)}")
        told = self.docking.get(vehicle)
        if told is not None and told.phase not in QUIET:
            words.append("leads a docking" if told.phase == LEADS else docking_sentence(told))
        if self.platform is not None and vehicle in self.platform.phases:
            words.append(self._platform_words(self.platform, vehicle))
        if vehicle in self.levels:
            words.append(f"autonomy: {self.levels[vehicle]}")
        return "  ·  ".join(words)

    @staticmethod
    def _platform_words(platform: PlatformStatus, vehicle: str) -> str:
        words = f"platform: {platform.phases[vehicle]}"
        if (cell := platform.cells.get(vehicle)) is not None:
            words += f" in cell {cell[0]}, {cell[1]}"
        owner = platform.owner_of(vehicle)
        return words + (f", flown by {owner}" if owner and owner != vehicle else "")

    # -- updates -----------------------------------------------------------------------------------------------

    def _joined(self, update: n.AssemblyUpdate, _: float) -> None:
        before, now = ({j.pair for j in x.joints} for x in (self.joining, update.joining))
        for pair in sorted(map(sorted, now - before)):
            self._tell(0, f"{' and '.join(pair)} are joined")
        for pair in sorted(map(sorted, before - now)):
            self._tell(0, f"{' and '.join(pair)} are parted")
        self.joining = update.joining

    def _ordered(self, update: n.DockingOrderUpdate, _: float) -> None:
        order = update.order
        if self.order is not None and order.counter <= self.order.counter:
            return
        self.order = order
        self._tell(0, f"ordered: {order.action} {order.follower} ({order.follower_port}) at "
                      f"{order.leader} ({order.leader_port})")  # fmt: skip

    def _docking_went_on(self, update: n.DockingUpdate, _: float) -> None:
        name, now = update.vehicle, update.feedback
        before = self.docking.get(name)
        self.docking[name] = now
        if now.refused and (before is None or before.refused != now.refused):
            self._tell(1, f"{name} refuses: {now.refused}")
        if before is not None and before.phase != now.phase:
            why = f": {now.reason}" if now.phase in TROUBLE and now.reason else ""
            self._tell(1 if now.phase in TROUBLE else 0, f"{name} docking: {now.phase}{why}")

    def _platform_went_on(self, update: n.PlatformUpdate, _: float) -> None:
        before, now = self.platform, update.status
        self.platform = now
        if before is None:
            return
        for vessel, phase in now.phases.items():
            if phase != before.phases.get(vessel) and phase in (MEMBER, WAITING, "failed"):
                self._tell(1 if phase == "failed" else 0, f"{vessel}: {phase}")
        if now.complete and not before.complete:
            self._tell(0, "the platform is complete")
        if now.stage != before.stage:
            self._tell(0, f"platform: {now.stage}")

    def _level(self, update: n.LevelsUpdate, _: float) -> None:
        if self.levels.get(update.vehicle, update.words) != update.words:
            self._tell(0, f"{update.vehicle}: {update.words}")
        self.levels[update.vehicle] = update.words


def docking_sentence(told: DockingFeedback) -> str:
    """`docking: close, gap 0.42 m, 12 mm aside, 0.8°, bearing 4°, try 1`."""
    if told.phase in QUIET:
        return f"docking: {told.phase or IDLE}" + (f" ({told.reason})" if told.reason else "")
    words = (
        f"docking: {told.phase}, gap {told.gap_m:.2f} m, {1000 * told.lateral_m:.0f} mm aside, {told.angle_deg:.1f}°"
    )
    return words + f", bearing {told.bearing_deg:.0f}°, try {told.tries}" + (f" ({told.reason})" if told.reason else "")


def levels_sentence(levels: Mapping[str, Any]) -> str:
    """The preset, or each axis with its level."""
    preset = str(levels.get("preset") or "")
    return preset or ", ".join(f"{axis} {level}" for axis, level in levels.items() if axis != "preset")
