"""A pad on the screen: axes, buttons, and the velocity that its layout makes of them."""

from __future__ import annotations

import time
from collections.abc import Callable

from shoal_teleop.layout import load_layout
from shoal_teleop.pad import Pad, Reading
from shoal_teleop.sticks import Sticks

PERIOD_S = 0.1
NO_PAD = 1  # exit code


def run(
    layout: str,
    device: int,
    seconds: float = 0.0,
    pad: Pad | None = None,
    write: Callable[[str], None] | None = None,
) -> int:
    """Until Ctrl-C or `seconds` have passed; 1 when no pad was ever there."""
    write = write or (lambda text: print(text, flush=True))
    sticks, pad, seen, shown = Sticks(load_layout(layout)), pad or Pad(device), False, ""
    end = time.monotonic() + seconds if seconds else float("inf")
    try:
        while True:
            reading = pad.read()
            text = describe(sticks, reading, pad.name) if reading is not None else f"no pad {device}: plug one in"
            seen = seen or reading is not None
            if text != shown:
                write(text)
                shown = text
            if time.monotonic() >= end:
                break
            time.sleep(PERIOD_S)
    except KeyboardInterrupt:
        pass
    finally:
        pad.close()
    return 0 if seen else NO_PAD


def describe(sticks: Sticks, reading: Reading, name: str) -> str:
    """One line."""
    axes = " ".join(f"{i}:{value:+.2f}" for i, value in enumerate(reading.axes))
    down = ", ".join(str(i) for i, value in enumerate(reading.buttons) if value) or "none"
    modes = sticks.modes(reading.buttons)
    v = sticks.velocity(reading.axes, reading.buttons)
    wanted = (
        "nothing: the dead-man button is not held"
        if v is None
        else f"north {v.north_mps:+.2f} east {v.east_mps:+.2f} up {v.up_mps:+.2f} m/s, turn {v.yaw_radps:+.2f} rad/s"
    )
    mode = f", mode {', '.join(modes)}" if modes else ""
    return f"{name} | axes {axes} | buttons {down} | fleet: {wanted}{mode}"
