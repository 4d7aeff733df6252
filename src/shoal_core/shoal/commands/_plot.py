"""`--plot FILE` of the commands that judge a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import ShoalError

if TYPE_CHECKING:
    from shoal.recordings.recording import Recording

ENDINGS = (".png", ".svg", ".pdf")


def check_plot(file: Path) -> None:
    """Before anything is simulated or read: a wrong name must not cost a run."""
    if file.suffix.lower() not in ENDINGS:
        raise ShoalError(f"--plot {file}: ending '{file.suffix}'; expected {', '.join(ENDINGS)}")
    if file.is_dir():
        raise ShoalError(f"--plot {file}: is a folder; expected a file")


def write_plot(recording: Recording, file: Path) -> None:
    """Tracks, depth, sight angles and distances."""
    from shoal.reports.plots.run_plot import draw_run
    from shoal.reports.plots.style import save

    file.parent.mkdir(parents=True, exist_ok=True)
    save(draw_run(recording), file)
