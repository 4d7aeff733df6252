"""One instant of a run as Rerun's own viewer shows it, in a PNG: its headless viewer, asked over its own port.

The viewer draws with Vulkan; a machine without a graphics card draws in software (Debian: mesa-vulkan-drivers).
"""

from __future__ import annotations

import importlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.frames import ned_to_enu
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording
from shoal.reports import rerun_scene as scene
from shoal.reports.rerun_view import save_rrd

Array = NDArray[np.float64]
SIZE = (1280, 640)
START_S, SETTLE_S = 90.0, 12.0  # wall time until it has loaded; until it has drawn and its notices are gone
TRIES = 8
COLOURS_KEPT = 128  # of the PNG's palette: a quarter of the bytes
AWAY_M = 1.5  # from what is looked at, and besides that so many times its width
ABOVE, OBLIQUE = 0.5, 0.4


def save_picture(recording: Recording, file: Path, at_s: float) -> None:
    """Scene and plots at that instant; the file appears when complete."""
    scene.sdk(str(file), "--viewer film")
    with tempfile.TemporaryDirectory() as folder:
        run, drawn = Path(folder) / "run.rrd", Path(folder) / "drawn.png"
        save_rrd(recording, run, eye=eye_at(recording, at_s))
        with _viewer(run) as client:
            _patiently(lambda: client.set_time(scene.TIMELINE, duration=float(at_s), play_state="paused"))
            time.sleep(SETTLE_S)
            _patiently(lambda: client.save_screenshot(str(drawn)))
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic.replacing(file) as scratch:
            _shrink(drawn, scratch)


def eye_at(recording: Recording, at_s: float) -> tuple[Array, Array]:
    """Where from and at what (ENU): all vehicles of that instant, from beside and above the first two."""
    now = recording.states[int(np.argmin(np.abs(recording.times_s - at_s)))]
    places = ned_to_enu(now[np.isfinite(now).all(axis=1)][:, POSITION])
    if not len(places):
        raise ShoalError(f"no vehicle has a position {at_s:g} s into the run; expected an instant with one")
    centre = places.mean(axis=0)
    along = places[1] - places[0] if len(places) > 1 else np.array([0.0, 1.0, 0.0])
    side = _unit(np.array([along[1], -along[0], 0.0])) if np.any(along[:2]) else np.array([1.0, 0.0, 0.0])
    width = float(np.max(np.linalg.norm(places - centre, axis=1)))
    away = AWAY_M + 2.5 * width
    return centre + away * (side + OBLIQUE * _unit(along) + np.array([0.0, 0.0, ABOVE])), centre


def _unit(vector: Array) -> Array:
    size = float(np.linalg.norm(vector))
    return vector / size if size > 1e-6 else vector


@contextmanager
def _viewer(run: Path) -> Iterator[Any]:
    """A client of a viewer without a window that has loaded the run."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    size = "x".join(map(str, SIZE))
    words = scene.viewer_command("--headless", "--port", str(port), "--window-size", size, str(run))
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output)
        try:
            yield _client(f"rerun+http://127.0.0.1:{port}/proxy", process, output)
        finally:
            process.terminate()
            process.wait(10)


def _client(url: str, process: subprocess.Popen[bytes], output: Any) -> Any:
    connect = importlib.import_module("rerun.experimental").ViewerClient.connect
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s and process.poll() is None:
        try:
            client = connect(url)
            state = client.get_state()
            if state.active_recording is not None and not state.loading:
                return client
        except Exception:  # of several kinds, while it starts
            pass
        time.sleep(0.5)
    output.seek(0)
    if "adapter" in (text := output.read()):
        raise ShoalError("Rerun's viewer found no graphics driver; expected Vulkan (Debian: mesa-vulkan-drivers)")
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "nothing")
    raise ShoalError(f"Rerun's viewer showed no run in {START_S:.0f} s; expected a picture; its last line: {last}")


def _patiently(ask: Callable[[], object]) -> None:
    """The viewer answers within 15 s or not at all, and drawing in software on a busy machine takes longer at times."""
    for left in reversed(range(TRIES)):
        try:
            ask()
            return
        except TimeoutError:
            if not left:
                raise ShoalError(f"Rerun's viewer did not answer {TRIES} times; expected a picture") from None


def _shrink(drawn: Path, file: Path) -> None:
    from PIL import Image

    with Image.open(drawn) as image:
        small = image.convert("RGB").resize(SIZE, Image.Resampling.LANCZOS)
        small.quantize(COLOURS_KEPT, dither=Image.Dither.NONE).save(file, format="PNG", optimize=True)
