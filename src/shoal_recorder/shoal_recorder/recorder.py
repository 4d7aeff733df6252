"""The `recorder` node: every message, into a rosbag2 recording that survives whatever happens to us."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from shoal.errors import ShoalError
from shoal.provenance import code_version
from shoal.recordings.bag_repair import is_left_behind, repair
from shoal_recorder.session import Session, check_name, compile_pattern, free_folder
from shoal_ros import process
from shoal_ros.diagnostics import Diagnostics, Level
from shoal_ros.parameters import declare

TAKE_WALL_S = 0.02  # arrival times come from the middleware, not from when we look
DISCOVER_WALL_S = 0.25


class RecorderNode(Node):
    """`~/start` and `~/stop`; the parameter `name` names the next recording."""

    def __init__(self, **options: Any) -> None:
        super().__init__("recorder", **options)
        declare(self, "name", "", "folder of the next recording; empty: date and time", read_only=False)
        declare(self, "folder", "recordings", "where recordings go", read_only=False)
        declare(self, "include", ".*", "topics to record, a regular expression", read_only=False)
        declare(self, "exclude", "^/(parameter_events|clock)$", "topics not to record, one as well", read_only=False)
        self._fleet = declare(self, "fleet", "", "noted in the recording, so that a report knows the fleet's limits")
        self._controller = declare(self, "controller", "", "noted as well; empty: not known")
        self._task = declare(self, "task", "", "noted as well; empty: paths are followed")
        self._condition = declare(self, "condition", "", "noted as well; empty: not a simulation of ours")
        self._seed = declare(self, "seed", 0, "noted with the condition", low=0)
        self._flush_s = declare(
            self, "flush_s", 0.5, "s of wall time, what kill -9 may cost at most", low=0.05, high=60.0
        )
        declare(self, "lockstep", False, "the clock waits for controllers: a message is of the tick that it answers")
        autostart = declare(self, "autostart", False, "record from the start")
        self._session: Session | None = None
        self._diagnostics = Diagnostics(self, "recorder", "recorder")
        self.create_service(Trigger, "~/start", self._serve_start)
        self.create_service(Trigger, "~/stop", self._serve_stop)
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # also while simulated time stands still
        self.create_timer(TAKE_WALL_S, self._take, clock=steady)
        self.create_timer(DISCOVER_WALL_S, self._discover, clock=steady)
        self.add_on_set_parameters_callback(self._check)
        atexit.register(self.close)
        threading.Thread(target=self._finish_old_ones, args=(self._folder(),), daemon=True).start()
        if autostart:
            self.start()

    # -- recording ----------------------------------------------------------------------------------------------

    def start(self) -> Path:
        """A new recording; its folder."""
        if self._session is not None:
            raise ShoalError(f"{self._session.bag.folder} is being recorded; expected to stop it first")
        name = check_name(self._text("name")) or datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        include = compile_pattern("include", self._text("include"))
        exclude = compile_pattern("exclude", self._text("exclude"))
        notes = self._notes()
        folder = free_folder(self._folder(), name)
        try:
            self._session = Session(
                self, folder, lambda topic: bool(include.search(topic)) and not exclude.search(topic), notes
            )
        except OSError as error:
            raise ShoalError(f"{folder}: {error.strerror}; expected a place to write to") from None
        self._session.discover()
        self.get_logger().info(f"recording to {folder}")
        return folder

    def _notes(self) -> dict[str, str]:
        """What was run, so that a report compares with the same elsewhere."""
        given = {"fleet": self._fleet, "controller": self._controller, "task": self._task, "condition": self._condition}
        notes = {key: value for key, value in given.items() if value} | {"code_version": code_version()}
        return notes | ({"seed": str(self._seed)} if self._condition else {})

    def stop(self) -> str:
        """What was recorded, in words."""
        if self._session is None:
            raise ShoalError("nothing is being recorded")
        session, self._session = self._session, None
        session.close()
        return f"{session.bag.messages} messages on {session.bag.topics} topics in {session.bag.folder}"

    def close(self) -> None:
        """On every way out that is left to Python."""
        if self._session is not None:
            self.get_logger().info(f"recorded {self.stop()}")

    def _take(self) -> None:
        if self._session is not None:
            self._guarded(lambda session: (session.take(), session.flush(self._flush_s)))

    def _discover(self) -> None:
        if self._session is not None:
            self._guarded(Session.discover)
        self._report()

    def _guarded(self, act: Any) -> None:
        """A full disk ends the recording, not the node; what was flushed can be repaired."""
        try:
            act(self._session)
        except OSError as error:
            folder, self._session = (self._session.bag.folder if self._session else ""), None
            self.get_logger().error(f"{folder}: {error.strerror}; recording ended, `shoal bag repair` finishes it")

    def _report(self) -> None:
        session, t_s = self._session, self.get_clock().now().nanoseconds * 1e-9
        if session is None:
            self._diagnostics.report(t_s, Level.OK, "not recording", {})
        else:
            values = {"folder": session.bag.folder, "messages": session.bag.messages, "topics": session.topics}
            self._diagnostics.report(t_s, Level.OK, "recording", values)

    # -- around it ----------------------------------------------------------------------------------------------

    def _finish_old_ones(self, parent: Path) -> None:
        """Recordings that a killed recorder left behind; beside the work, they may be large."""
        for folder in sorted(parent.iterdir()) if parent.is_dir() else []:
            try:
                if folder.is_dir() and is_left_behind(folder):
                    found = repair(folder)
                    self.get_logger().info(f"{folder}: was left behind, finished with {found.messages} messages")
            except (ShoalError, OSError) as error:
                self.get_logger().warning(f"{folder}: was left behind and cannot be finished ({error})")

    def _serve_start(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        try:
            answer.success, answer.message = True, str(self.start())
        except ShoalError as error:
            answer.success, answer.message = False, str(error)
        return answer

    def _serve_stop(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        try:
            answer.success, answer.message = True, self.stop()
        except (ShoalError, OSError) as error:
            answer.success, answer.message = False, str(error)
        return answer

    def _check(self, changed: list[Parameter]) -> SetParametersResult:
        try:
            for parameter in changed:
                if parameter.name == "name":
                    check_name(str(parameter.value))
                if parameter.name in ("include", "exclude"):
                    compile_pattern(parameter.name, str(parameter.value))
        except ShoalError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _folder(self) -> Path:
        return Path(self._text("folder")).expanduser().resolve()

    def _text(self, name: str) -> str:
        return str(self.get_parameter(name).value)


def main() -> None:
    """Entry point. A terminal that closes is a request to end like any other."""
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    process.run(RecorderNode)


if __name__ == "__main__":
    main()
