"""`shoal live`: the running fleet in Rerun's viewer, in a process that no control depends on."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path
from types import FrameType
from typing import Any

from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.reports import rerun_scene
from shoal.reports.view import has_display
from shoal_ros.local_fleets import find_fleet
from shoal_rqt import updates
from shoal_rqt.live_scene import LiveScene
from shoal_rqt.model import FleetModel
from shoal_rqt.update_queue import UpdateQueue

PERIOD_S = 0.1
QUIET_S = 5.0  # without a vehicle; then it says so
VIEWER_MEMORY = "2GB"  # beyond which it forgets the oldest


class Viewer:
    """Rerun's own, on a free port of this machine, or a file in its place."""

    def __init__(self, rr: Any, web: bool, save: Path | None) -> None:
        self._rr, self._save = rr, save
        self._process: subprocess.Popen[bytes] | None = None
        if save is None:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            self._url = f"rerun+http://127.0.0.1:{port}/proxy"
            options = ("--port", str(port), "--memory-limit", VIEWER_MEMORY, "--expect-data-soon")
            command = rerun_scene.viewer_command(*options, "--hide-welcome-screen", web=web)
            self._process = subprocess.Popen(command)

    def stream(self) -> Any:
        """A new recording in it."""
        made = self._rr.RecordingStream("shoal")
        layout = rerun_scene.layout(with_joints=False)
        if self._save is not None:
            made.save(str(self._save), default_blueprint=layout)
        else:
            made.connect_grpc(self._url, default_blueprint=layout)
        return made

    @property
    def closed(self) -> bool:
        """By the operator."""
        return self._process is not None and self._process.poll() is not None

    def close(self) -> int:
        """Its exit code, if it ended by itself."""
        if self._process is None:
            return 0
        code = self._process.poll()
        if code is None:
            self._process.terminate()
            self._process.wait(10)
        return code or 0


class Stop:
    """Ctrl-C and SIGTERM end the view in order."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def run(
    fleet: str, domain: int | None, network: bool, keystore: Path | None, web: bool, save: Path | None, seconds: float
) -> int:
    """Until the viewer is closed, Ctrl-C, or `seconds` of wall time; the exit code."""
    rr = rerun_scene.sdk("shoal live", "Foxglove through its bridge (docs/recordings.md)")
    if save is None and not web and not has_display():
        raise ShoalError("shoal live: no display; expected --web (Rerun in a browser) or --save FILE.rrd")
    model = FleetModel(load_fleet(fleet) if fleet else None)
    number = find_fleet(domain, network, keystore)
    try:
        from shoal_rqt.ros_link import RosLink
    except ImportError as error:
        raise ShoalError(f"ROS 2 cannot be imported ({error}); expected rclpy and the common messages") from None
    queue, stop = UpdateQueue(), Stop()
    link = RosLink(queue, number, "live_view")
    try:
        if save is None:
            return _serve(rr, model, queue, Viewer(rr, web, None), stop, seconds)
        with atomic.replacing(save) as scratch:
            return _serve(rr, model, queue, Viewer(rr, web, scratch), stop, seconds)
    finally:
        link.close()


def _serve(rr: Any, model: FleetModel, queue: UpdateQueue, viewer: Viewer, stop: Stop, seconds: float) -> int:
    streams: list[Any] = []

    def begin() -> Any:
        streams.append(viewer.stream())
        return streams[-1]

    scene, begun_s, told = LiveScene(rr, begin), time.monotonic(), False
    try:
        while not stop.asked and not viewer.closed:
            wall_s = time.monotonic()
            for item in queue.drain():
                if not isinstance(item, updates.Answer):
                    model.apply(item, wall_s)
            scene.show(model, wall_s)
            if not told and not model.vehicles and wall_s - begun_s > QUIET_S:
                told = True
                print("no vehicle found yet: start a fleet with `shoal up`, or name its --domain", flush=True)
            if seconds and wall_s - begun_s >= seconds:
                break
            time.sleep(max(0.0, PERIOD_S - (time.monotonic() - wall_s)))
        if streams:
            streams[-1].flush()
            streams[-1].disconnect()
    finally:
        code = viewer.close()
    return code
