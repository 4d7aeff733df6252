"""Replay of a run as an animation: a GIF or MP4 file, or a live window."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.recordings.bag_reader import read_runs
from shoal.recordings.parquet import read_parquet
from shoal.recordings.recording import Recording
from shoal.reports.view_scene import Scene

SIZE_INCHES = (12.0, 6.5)
FORMATS = {".gif": "pillow", ".mp4": "ffmpeg"}


def has_display() -> bool:
    """Can a window be opened here?"""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def load_run(folder: Path) -> Recording:
    """The recording in a run directory, or in the recording/ inside it; of a rosbag2 folder, its first run."""
    if not folder.is_dir():
        raise ShoalError(f"{folder}: no such directory; expected a run of `shoal simulate --out`, or a rosbag2")
    if (folder / "metadata.yaml").is_file() and not _is_run(folder) and not _is_run(folder.parent):
        return read_runs(folder)[0]
    return read_parquet(folder.parent if folder.name == "recording" and not _is_run(folder) else folder)


def frame_indices(recording: Recording, speed: float, fps: float) -> NDArray[np.int_]:
    """Which instants to show: `speed` simulated seconds per second of film."""
    wanted = np.arange(recording.times_s[0], recording.times_s[-1] + 1e-9, speed / fps)
    return np.unique(np.clip(np.searchsorted(recording.times_s, wanted - 1e-9), 0, len(recording.times_s) - 1))


def save_animation(
    recording: Recording,
    file: Path,
    *,
    speed: float = 20.0,
    fps: float = 10.0,
    dpi: int = 80,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Write a GIF or MP4 by the file's ending; it appears under its name when complete."""
    kind = FORMATS.get(file.suffix.lower())
    if kind is None:
        raise ShoalError(f"--save {file}: ending '{file.suffix}'; expected .gif or .mp4")
    if kind == "ffmpeg" and not shutil.which("ffmpeg"):
        raise ShoalError(f"--save {file}: needs ffmpeg, which is not installed; expected it, or a .gif")
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic.replacing(file) as scratch, _figure() as figure:
        _film(recording, figure, scratch, kind, frame_indices(recording, speed, fps), fps, dpi, progress)


def _film(
    recording: Recording,
    figure: Any,
    file: Path,
    kind: str,
    frames: NDArray[np.int_],
    fps: float,
    dpi: int,
    progress: Callable[[int, int], None],
) -> None:
    """Frame by frame: matplotlib's own `Animation.save` draws each of them twice."""
    from matplotlib import animation

    scene, writer = Scene(recording, figure), animation.writers[kind](fps=round(fps))
    with writer.saving(figure, str(file), dpi):
        for done, k in enumerate(frames, start=1):
            scene.show(int(k))
            writer.grab_frame()
            progress(done, len(frames))


def show_animation(recording: Recording, *, speed: float = 20.0, fps: float = 10.0) -> None:
    """A window, until it is closed."""
    if not has_display():
        raise ShoalError("view: there is no display; expected --save FILE.gif or FILE.mp4")
    import matplotlib.pyplot as plt
    from matplotlib import animation

    figure = plt.figure(figsize=SIZE_INCHES)
    scene, frames = Scene(recording, figure), frame_indices(recording, speed, fps)
    film = animation.FuncAnimation(figure, lambda k: scene.show(int(k)), frames=frames, interval=1000.0 / fps,
                                   cache_frame_data=False)  # fmt: skip
    plt.show()
    del film  # matplotlib stops an animation that nobody holds


def save_still(recording: Recording, file: Path, t_s: float, dpi: int = 110) -> None:
    """One instant as a picture (PNG, SVG, PDF)."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with _figure() as figure:
        Scene(recording, figure).show(int(np.argmin(np.abs(recording.times_s - t_s))))
        figure.savefig(file, dpi=dpi)


@contextmanager
def _figure() -> Iterator[Any]:
    """Without a window, whatever backend the user has set."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_INCHES)
    FigureCanvasAgg(figure)
    yield figure


def _is_run(folder: Path) -> bool:
    return (folder / "timeseries.parquet").is_file()
