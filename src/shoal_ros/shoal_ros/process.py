"""Running one node as a process that ends well: SIGINT and SIGTERM let it say goodbye before ROS goes down."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn, Protocol

import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.signals import SignalHandlerOptions

from shoal.errors import ShoalError

WAKE_S = 0.1  # wall; Python sees a signal only when the wait returns
BAD_INPUT = 2  # exit code: starting it again would not help


class Closing(Protocol):
    """A node that has something left to do at the end, such as zero thrust."""

    def close(self) -> None:
        """Called once, while publishing still works."""
        ...


class Stop:
    """Set by a signal; a second one is not needed, and a third changes nothing."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def run(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> None:
    """Make the node and serve it until asked to stop. Its `close`, if it has one, is called even after an exception."""
    start(args)
    stop = Stop()
    node = made(make_node)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    settle()
    try:
        while rclpy.ok() and not stop.asked:
            executor.spin_once(timeout_sec=WAKE_S)
    except ExternalShutdownException:
        pass
    finally:
        finish(node)


def start(args: Sequence[str] | None = None) -> None:
    """rclpy without its own signal handlers: those shut ROS down at once, and no last zero would go out."""
    # With the first message rosidl loads its code generator and two parsers if it finds them: a tenth of a second of
    # every start, for nothing. None stands for a module that is not there.
    sys.modules.setdefault("rosidl_generator_py.generate_py_impl", None)  # type: ignore[arg-type]
    try:
        rclpy.init(args=list(args) if args is not None else None, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # keys missing, arguments that ROS cannot read: no use to try again
        give_up(f"ROS does not start: {error}")


def made(make_node: Callable[[], Node]) -> Node:
    """The node; bad input ends the process with one sentence and an exit code that says not to try again."""
    try:
        return make_node()
    except ShoalError as error:
        give_up(str(error))
    except RCLError as error:
        if os.environ.get("ROS_SECURITY_ENABLE", "").lower() != "true":
            raise
        give_up(_without_security(str(error)))


def _without_security(error: str) -> str:
    """Keys that this ROS cannot use: no use to try again."""
    if "security libraries" in error or "-DSECURITY=ON" in error:
        return (
            "this Fast DDS has no security plugins (the PyPI wheels' never does); expected a ROS 2 installation whose "
            "Fast DDS is built with SECURITY=ON, or no key store"
        )
    return f"ROS does not start with the key store {os.environ.get('ROS_SECURITY_KEYSTORE', '')}: {error}"


def give_up(why: str) -> NoReturn:
    """For bad input."""
    print(f"[ERROR] {why}", file=sys.stderr, flush=True)
    rclpy.try_shutdown()
    raise SystemExit(BAD_INPUT)


def settle() -> None:
    """What start-up made will live as long as we do: the garbage collector need not look at it in mid-flight."""
    gc.collect()
    gc.freeze()


def finish(node: Node) -> None:
    """Last words, then ROS goes down."""
    try:
        if rclpy.ok() and hasattr(node, "close"):
            node.close()
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def flush(publishers: Sequence[Publisher], wall_s: float = 0.3) -> None:
    """Wait until all that listen have what was published last; for last words of a reliable publisher."""
    for publisher in publishers:
        publisher.wait_for_all_acked(Duration(seconds=wall_s))
