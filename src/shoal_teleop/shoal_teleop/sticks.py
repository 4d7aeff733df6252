"""From a pad's axes and buttons to what the operator wants. No ROS, no clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shoal_teleop.layout import Axis, Layout, Trigger

AT_REST = 0.1  # a trigger this close to its rest has shown that it is one


@dataclass(frozen=True)
class Velocity:
    """Of the setpoint, in the map's frame (ENU); yaw counter-clockwise."""

    east_mps: float = 0.0
    north_mps: float = 0.0
    up_mps: float = 0.0
    yaw_radps: float = 0.0


ZERO = Velocity()


class Sticks:
    """Reads one pad. Remembers which triggers have been seen at rest and which buttons were down."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._armed: set[int] = set()
        self._down: set[str] = set()

    def velocity(self, axes: Sequence[float], buttons: Sequence[int]) -> Velocity | None:
        """None while the dead man is up, or when the message cannot come from such a pad."""
        layout, limits = self.layout, self.layout.limits
        up, down = self._trigger(layout.triggers.up, axes), self._trigger(layout.triggers.down, axes)
        if not self._held(buttons) or not all(math.isfinite(a) for a in axes) or len(axes) <= self._highest_axis():
            return None
        east, north = self._stick(_value(layout.axes.east, axes), _value(layout.axes.north, axes))
        return Velocity(
            east * limits.horizontal_mps,
            north * limits.horizontal_mps,
            (up - down) * limits.vertical_mps,
            self._stick(_value(layout.axes.yaw, axes), 0.0)[0] * math.radians(limits.yaw_degps),
        )

    def modes(self, buttons: Sequence[int]) -> list[str]:
        """Modes asked for by buttons that went down just now. Hold needs no dead man: stopping is always right."""
        down = {mode for mode, b in self.layout.buttons.modes().items() if b < len(buttons) and buttons[b]}
        new, self._down = down - self._down, down
        return sorted(mode for mode in new if mode == "hold" or self._held(buttons))

    def _held(self, buttons: Sequence[int]) -> bool:
        number = self.layout.buttons.dead_man
        return number < len(buttons) and bool(buttons[number])

    def _stick(self, x: float, y: float) -> tuple[float, float]:
        """Dead zone and edge by length, so that a diagonal is neither faster nor stickier; full range in between."""
        length, dead = math.hypot(x, y), self.layout.dead_zone
        if length <= dead:
            return 0.0, 0.0
        scale = min((length - dead) / (1.0 - dead), 1.0) / length
        return x * scale, y * scale

    def _trigger(self, trigger: Trigger, axes: Sequence[float]) -> float:
        """0 to 1; drivers report 0 for a trigger nobody has touched yet, which would be half pressed."""
        if trigger.axis >= len(axes) or not math.isfinite(axes[trigger.axis]):
            return 0.0
        if abs(axes[trigger.axis] - trigger.rest) <= AT_REST:
            self._armed.add(trigger.axis)
        if trigger.axis not in self._armed:
            return 0.0
        share = (axes[trigger.axis] - trigger.rest) / (trigger.pressed - trigger.rest)
        return self._stick(max(share, 0.0), 0.0)[0]

    def _highest_axis(self) -> int:
        a, t = self.layout.axes, self.layout.triggers
        return max(a.east.axis, a.north.axis, a.yaw.axis, t.up.axis, t.down.axis)


class DeadMan:
    """What goes out: commands while the button is held, one zero when it is not, or when the pad falls silent."""

    def __init__(self, timeout_s: float = 0.5) -> None:
        self.timeout_s = timeout_s
        self.moving = False
        self._received_s = -math.inf

    def update(self, t_s: float, wanted: Velocity | None) -> Velocity | None:
        """A message of the pad; what to publish, or None."""
        self._received_s = t_s
        if wanted is None:
            return self.release()
        self.moving = True
        return wanted

    def check(self, t_s: float) -> Velocity | None:
        """Now and then: has the pad fallen silent?"""
        return self.release() if t_s - self._received_s > self.timeout_s else None

    def release(self) -> Velocity | None:
        """Zero, once."""
        was, self.moving = self.moving, False
        return ZERO if was else None


def _value(axis: Axis, axes: Sequence[float]) -> float:
    return max(-1.0, min(1.0, axes[axis.axis])) * axis.sign
