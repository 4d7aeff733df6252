"""The `pilot_keyboard` node: a terminal as a pilot's sticks. A key counts while it repeats."""

from __future__ import annotations

from typing import Any

from shoal_autopilot.pilot_publisher import CENTRED, PilotPublisher
from shoal_autopilot.sticks import FULL, sticks_of
from shoal_ros import process
from shoal_teleop.keyboard import TerminalNode
from shoal_teleop.keys import Keys
from shoal_teleop.sticks import Velocity

PRESETS = {"1": "manual", "2": "stabilise", "3": "depth_hold", "4": "position_hold", "5": "guided", "6": "fleet"}
HELP = """\
  w s  ahead, astern       r f  up, down          + -  stronger, weaker
  a d  port, starboard     q e  turn left, right  space  let go
  1 manual  2 stabilise  3 depth hold  4 position hold  5 guided  6 fleet   x  quit
(arrow keys do as well; hold a key to keep moving)"""


class PilotKeys:
    """Keys to the autopilot."""

    def __init__(self, pilot: PilotPublisher) -> None:
        self._pilot, self._heard = pilot, False

    def check(self) -> str:
        """Says when the autopilot is there, and when it is gone."""
        heard, self._heard = self._heard, self._pilot.listened_to
        if heard == self._heard:
            return ""
        return f"{self._pilot.vehicle}: the autopilot {'listens' if self._heard else 'is gone'}"

    def velocity(self, velocity: Velocity | None) -> None:
        """Centred sticks where no key is down: the pilot is still there."""
        self._pilot.send({"sticks": sticks_of(velocity)} if velocity is not None else CENTRED)

    def mode(self, name: str) -> None:
        """A preset."""
        self._pilot.send({"preset": name})

    def last(self, velocity: Velocity | None) -> None:
        """Let go."""
        self._pilot.last()


class PilotKeyboard(TerminalNode):
    """`--ros-args -p vehicle:=rov1`."""

    def __init__(self, **options: Any) -> None:
        super().__init__("pilot_keyboard", **options)
        self.open_terminal(Keys(FULL, PRESETS), PilotKeys(PilotPublisher(self)), HELP)


def main() -> None:
    """`ros2 run shoal_autopilot pilot_keyboard`."""
    process.run(PilotKeyboard)


if __name__ == "__main__":
    main()
