"""A game pad through pygame (SDL), without a window, coming and going as it likes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reading:
    """As sensor_msgs/Joy has it: axes +1 to the left and up, hats as two axes more."""

    axes: list[float]
    buttons: list[int]


def load_pygame() -> Any:
    """pygame with a screen that does not exist; pads are read even though no window has the focus."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS", "1")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame

    # Not pygame.init(): it opens the sound card as well, and ALSA complains on stderr where there is none.
    pygame.display.init()
    pygame.joystick.init()
    return pygame


class Pad:
    """The pad of a given number, if it is plugged in."""

    def __init__(self, number: int = 0, pygame: Any = None) -> None:
        self._pygame = load_pygame() if pygame is None else pygame
        self._number = number
        self._joystick: Any = None

    @property
    def name(self) -> str:
        """Empty while there is none."""
        return str(self._joystick.get_name()) if self._joystick is not None else ""

    def read(self) -> Reading | None:
        """None while there is none."""
        self._pygame.event.pump()  # SDL notices plugging and motion only when asked
        if self._joystick is not None and not self._present():
            self._joystick = None
        if self._joystick is None and self._pygame.joystick.get_count() > self._number:
            self._joystick = self._pygame.joystick.Joystick(self._number)
            self._joystick.init()
        return None if self._joystick is None else _reading(self._joystick)

    def close(self) -> None:
        """Give SDL back."""
        self._joystick = None
        self._pygame.quit()

    def _present(self) -> bool:
        try:
            return bool(self._joystick.get_init()) and self._pygame.joystick.get_count() > self._number
        except self._pygame.error:
            return False


def _reading(joystick: Any) -> Reading:
    """SDL counts right and down as positive, Joy left and up; `joy` turns the sign of every axis, and so do we."""
    axes = [-float(joystick.get_axis(i)) + 0.0 for i in range(joystick.get_numaxes())]
    for i in range(joystick.get_numhats()):
        right, up = joystick.get_hat(i)
        axes += [-float(right) + 0.0, float(up)]
    return Reading(axes, [int(joystick.get_button(i)) for i in range(joystick.get_numbuttons())])
