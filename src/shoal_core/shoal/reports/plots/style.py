"""One look for all pictures: quiet axes, colours that colour-blind readers can distinguish too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK, GREY, PALE, WATER = "#1f2d3a", "#8796a5", "#e9eef2", "#f4f8fb"
# Okabe–Ito, without black and yellow.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")

_SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": PALE,
    "grid.linewidth": 0.9,
    "axes.axisbelow": True,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def styled() -> Any:
    """Context in which figures get the look; make and draw them inside it."""
    return matplotlib.rc_context(_SETTINGS)


def new_figure(width_in: float, height_in: float, **options: Any) -> Any:
    """A figure with a canvas of its own. Any: matplotlib's types know less than its users about what subplots give."""
    figure = Figure(figsize=(width_in, height_in), layout=options.pop("layout", "constrained"), **options)
    FigureCanvasAgg(figure)
    return figure


def headline(figure: Any, title: str, subtitle: str = "") -> None:
    """Title and a quieter line below it, at the left edge."""
    figure.suptitle(title, x=0.012, ha="left", fontsize=15, fontweight="bold", color=INK)
    if subtitle:
        figure.text(0.012, 0.93, subtitle, ha="left", va="top", fontsize=10, color=GREY)


def save(figure: Any, path: Path, dpi: int = 150) -> Path:
    """Write the picture; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the software's version in it the same picture is the same file.
    figure.savefig(path, dpi=dpi, facecolor="white", metadata={"Software": None} if path.suffix == ".png" else None)
    return path
