"""`--plot FILE` of the commands that judge a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.recordings.recording import Recording


def write_plot(recording: Recording, file: Path) -> None:
    """Tracks, depth, sight angles and distances."""
    from shoal.reports.plots.run_plot import draw_run
    from shoal.reports.plots.style import save

    file.parent.mkdir(parents=True, exist_ok=True)
    save(draw_run(recording), file)
