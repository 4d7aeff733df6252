"""Pads and keys of teleoperation as a pilot's sticks. No ROS."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal_teleop.layout import Layout, StickLimits
from shoal_teleop.sticks import Sticks, Velocity

# Full deflection is one: teleoperation's velocities are then shares, north and east the bow and starboard.
FULL = StickLimits(horizontal_mps=1.0, vertical_mps=1.0, yaw_degps=math.degrees(1.0))


def sticks_of(deflection: Velocity | None) -> dict[str, float]:
    """Body axes FRD: heave counts down, yaw to starboard."""
    if deflection is None:
        return {}
    d = deflection
    shares = {"surge": d.north_mps, "sway": d.east_mps, "heave": -d.up_mps, "yaw": -d.yaw_radps}
    return {axis: round(max(-1.0, min(1.0, share)), 4) for axis, share in shares.items()}


class PadPilot:
    """One pad: axes and buttons in, a message out. Without the dead man's button the sticks are centred."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._sticks = Sticks(layout.model_copy(update={"limits": FULL}))
        self._down: set[str] = set()

    def message(self, axes: Sequence[float], buttons: Sequence[int]) -> dict[str, object]:
        """A preset goes along with the message in which its button went down; position hold needs no dead man."""
        wanted = self._sticks.velocity(axes, buttons)
        down: set[str] = {name for name, b in self._layout.presets.items() if b < len(buttons) and buttons[b]}
        new, self._down = down - self._down, down
        allowed = sorted(name for name in new if name == "position_hold" or wanted is not None)
        message: dict[str, object] = {"sticks": sticks_of(wanted)}
        return message | {"preset": allowed[0]} if allowed else message
