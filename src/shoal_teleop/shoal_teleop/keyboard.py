"""The `keyboard` node: drive the setpoint from a terminal."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from typing import Any, Protocol

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from shoal.errors import ShoalError
from shoal_ros import process
from shoal_ros.parameters import declare
from shoal_teleop.keys import HELP, Keys
from shoal_teleop.layout import StickLimits
from shoal_teleop.messages import CommandPublisher
from shoal_teleop.sticks import DeadMan, Velocity

PERIOD_WALL_S = 0.05


class Commands(Protocol):
    """Whom the keys reach."""

    def check(self) -> str:
        """A sentence when it has changed whether anybody listens; else empty."""
        ...

    def velocity(self, velocity: Velocity | None) -> None:
        """None: no key is down."""
        ...

    def mode(self, name: str) -> None:
        """A mode was asked for."""
        ...

    def last(self, velocity: Velocity | None) -> None:
        """Before the node goes."""
        ...


class TerminalNode(Node):
    """The terminal is put back as it was, however the node ends."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        if not sys.stdin.isatty():
            raise ShoalError(f"{name}: standard input is no terminal; expected to be run in one")

    def open_terminal(self, keys: Keys, commands: Commands, words: str) -> None:
        """Listen to keys from now on."""
        self._keys, self._dead_man, self._commands = keys, DeadMan(), commands
        self._input = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._input)
        tty.setcbreak(self._input)  # keys at once and without echo; Ctrl-C stays a signal
        print(words, flush=True)
        self._shown: Velocity | None = None
        self.create_timer(PERIOD_WALL_S, self._read, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _read(self) -> None:
        t_s, typed = time.monotonic(), ""
        if sentence := self._commands.check():
            print(f"\r\x1b[K{sentence}", flush=True)
        while select.select([self._input], [], [], 0)[0]:
            found = os.read(self._input, 64)
            if not found:  # the terminal is gone
                self._keys.quit = True
                break
            typed += found.decode(errors="ignore")
        for mode in self._keys.press(t_s, typed):
            self._commands.mode(mode)
            print(f"\r\x1b[Kasked for mode {mode}", end="", flush=True)
        self._publish(self._dead_man.update(t_s, self._keys.velocity(t_s)))
        if self._keys.quit:
            self.close()
            rclpy.try_shutdown(context=self.context)

    def _publish(self, velocity: Velocity | None) -> None:
        self._commands.velocity(velocity)
        if velocity is not None and velocity != self._shown:
            self._shown, v = velocity, velocity
            print(f"\r\x1b[Knorth {v.north_mps:+.2f}  east {v.east_mps:+.2f}  up {v.up_mps:+.2f} m/s  "
                  f"turn {v.yaw_radps:+.2f} rad/s  ({self._keys.share:.0%})", end="", flush=True)  # fmt: skip

    def close(self) -> None:
        """Let go."""
        self._commands.last(self._dead_man.release())

    def destroy_node(self) -> None:
        """Also where `close` is not reached."""
        if not hasattr(self, "_before"):
            super().destroy_node()
            return
        termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)
        print(flush=True)
        super().destroy_node()


class KeyboardNode(TerminalNode):
    """Drives the fleet's setpoint."""

    def __init__(self, **options: Any) -> None:
        super().__init__("keyboard", **options)
        standard = StickLimits()
        limits = StickLimits(
            horizontal_mps=declare(self, "horizontal_mps", standard.horizontal_mps, "m/s at most", low=0.01, high=5.0),
            vertical_mps=declare(self, "vertical_mps", standard.vertical_mps, "m/s at most", low=0.01, high=5.0),
            yaw_degps=declare(self, "yaw_degps", standard.yaw_degps, "deg/s at most", low=0.1, high=90.0),
        )
        self.open_terminal(Keys(limits), CommandPublisher(self), HELP)


def main() -> None:
    """Entry point."""
    process.run(KeyboardNode)


if __name__ == "__main__":
    main()
