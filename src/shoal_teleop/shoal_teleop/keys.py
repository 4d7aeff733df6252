"""A keyboard as a stick. A terminal reports keys going down, never up: a key counts while it repeats."""

from __future__ import annotations

import math
from collections.abc import Mapping

from shoal_teleop.layout import StickLimits
from shoal_teleop.sticks import ZERO, Velocity

FIRST_S = 0.7  # after a first press: terminals start to repeat after half a second
REPEAT_S = 0.25  # between repeats
HELP = """\
  w s  north, south        r f  up, down          + -  faster, slower
  a d  west, east          q e  turn left, right  space  stop
  m manual   h hold   p waypoints   t test        x  quit
(arrow keys do as well; hold a key to keep moving)"""

DIRECTIONS = {  # east, north, up, yaw
    "w": (0, 1, 0, 0), "s": (0, -1, 0, 0), "a": (-1, 0, 0, 0), "d": (1, 0, 0, 0),
    "r": (0, 0, 1, 0), "f": (0, 0, -1, 0), "q": (0, 0, 0, 1), "e": (0, 0, 0, -1),
}  # fmt: skip
ARROWS = {"\x1b[A": "w", "\x1b[B": "s", "\x1b[C": "d", "\x1b[D": "a", "\x1bOA": "w", "\x1bOB": "s", "\x1bOC": "d",
          "\x1bOD": "a"}  # fmt: skip
MODES = {"m": "manual", "h": "hold", "p": "waypoints", "t": "test"}


class Keys:
    """Keys that are down at the same time add up."""

    def __init__(self, limits: StickLimits, modes: Mapping[str, str] = MODES) -> None:
        """`modes`: what a key asks for."""
        self._limits, self._modes, self._share = limits, modes, 0.5
        self._until_s: dict[str, float] = {}
        self.quit = False

    @property
    def share(self) -> float:
        """Of the limits."""
        return self._share

    def press(self, t_s: float, text: str) -> list[str]:
        """What was read from the terminal; the modes asked for."""
        modes = []
        for key in split(text):
            if key in DIRECTIONS:
                held = self._until_s.get(key, -math.inf) > t_s
                self._until_s[key] = t_s + (REPEAT_S if held else FIRST_S)
            elif key in self._modes:
                modes.append(self._modes[key])
            elif key in ("+", "="):
                self._share = min(1.0, self._share + 0.1)
            elif key == "-":
                self._share = max(0.1, self._share - 0.1)
            elif key == " ":
                self._until_s.clear()
            elif key == "x":
                self._until_s.clear()
                self.quit = True
        return modes

    def velocity(self, t_s: float) -> Velocity | None:
        """None while no key is down."""
        down = [DIRECTIONS[key] for key, until_s in self._until_s.items() if until_s > t_s]
        if not down:
            return None
        east, north, up, yaw = (float(sum(column)) for column in zip(*down, strict=True))
        longer, limits = max(1.0, math.hypot(east, north)), self._limits
        flat = self._share * limits.horizontal_mps / longer
        wanted = Velocity(
            east * flat,
            north * flat,
            self._share * limits.vertical_mps * up,
            self._share * math.radians(limits.yaw_degps) * yaw,
        )
        return ZERO if wanted == ZERO else wanted


def split(text: str) -> list[str]:
    """Keys, arrows as the letters they stand for."""
    keys = []
    while text:
        arrow = next((a for a in ARROWS if text.startswith(a)), None)
        keys.append(ARROWS[arrow] if arrow else text[0].lower())
        text = text[len(arrow) if arrow else 1 :]
    return keys
