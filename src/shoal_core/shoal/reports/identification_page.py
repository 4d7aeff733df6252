"""One self-contained page of a fit (numbers, residuals, correlation, free runs) or of a validation (free runs)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.identification.fit import Fit
from shoal.identification.summary import summarise_fit
from shoal.identification.validation import COMPARED, Validation
from shoal.reports.page import Part, png, write_page
from shoal.reports.plots.style import COLOURS, GREY, INK, new_figure, styled
from shoal.vehicles.description import AXES, Vehicle

Array = NDArray[np.float64]
MEASURED = ("position", "attitude", "velocity", "rate")
SHOWN_WINDOWS = 6


def write_fit_page(file: Path, found: Fit, prior: Vehicle, sources: Sequence[str], runs: Sequence[Validation],
                   held_out: bool) -> None:  # fmt: skip
    """Of `shoal identify`."""
    rows = [
        (r.name, r.unit, f"{r.prior:.4g}", f"{r.value:.4g}", f"{r.interval[0]:.4g} … {r.interval[1]:.4g}")
        for r in summarise_fit(found, prior)
    ]
    unseen = f" Not excited and left at the file's values: {', '.join(found.unexcited)}." if found.unexcited else ""
    parts = [
        Part("Numbers", "The vehicle file's beside those found." + unseen,
              ("quantity", "unit", "file", "found", "95 % interval"), rows),
        Part("Residuals", "Fitted less measured in units of the sensor's sigma, all windows. Where model and noise "
              "are right they spread by one at every time within a window, without a trend.",
              picture=_residuals(found)),
        Part("Correlation", "Between the errors of the unknowns. Strong pairs cannot be told apart by this motion.",
              picture=_correlation(found)),
        *_free_runs(runs, "Free runs on held-out motion" if held_out else "Free runs on the fitted motion itself"),
    ]  # fmt: skip
    figures = [
        (f"{found.misfit:.2f}", "misfit s² (1: model and noise are right)", "good" if found.misfit <= 1.3 else "bad"),
        (str(found.iterations), "iterations, until no step exceeded 2 % of an interval", ""),
    ]
    write_page(
        file, f"identification of {prior.name}", f"prior {prior.parameter_set}; {', '.join(sources)}", figures, parts
    )


def write_validation_page(file: Path, runs: Sequence[Validation], sources: Sequence[str]) -> None:
    """Of `shoal validate`."""
    write_page(file, "validation", ", ".join(sources), [], _free_runs(runs, "Free runs"))


def _free_runs(runs: Sequence[Validation], title: str) -> list[Part]:
    if not runs:
        return []
    head = ("set", "axis", "unit", "RMSE", "R²", "Pearson", "mean warped distance")
    rows = []
    for entry in runs:
        for a in entry.axes:
            scores = (f"{a.r2:.3f}", f"{a.pearson:.3f}") if a.moved else ("–", "–")
            unit = "rad/s" if a.axis == "yaw" else "m/s"
            rows.append((entry.name, a.axis, unit, f"{a.rmse:.4f}", *scores, f"{a.warped:.4f}"))
    span_s = runs[0].times_s[-1]
    explain = (
        f"From a measured state the model runs freely for {span_s:g} s with the logged commands. An axis that hardly "
        "moved has no R². Drawn: the first windows one after the other, measured in grey."
    )
    return [Part(title, explain, head, rows, _windows(runs))]


def _windows(runs: Sequence[Validation]) -> str:
    with styled():
        figure = new_figure(11, 7)
        for i, (axis, plot) in enumerate(zip(COMPARED, figure.subplots(4, 1, sharex=True), strict=True)):
            for w in range(min(SHOWN_WINDOWS, len(runs[0].measured))):
                t = runs[0].times_s * 1.03 + w * runs[0].times_s[-1] * 1.06
                plot.plot(t, runs[0].measured[w, :, 7 + axis], color=GREY, lw=3, alpha=0.6)
                for entry, colour in zip(runs, COLOURS * len(runs), strict=False):
                    label = entry.name if w == 0 and i == 0 else None
                    plot.plot(t, entry.predicted[w, :, 7 + axis], color=colour, lw=1.3, label=label)
            plot.set_ylabel(f"{AXES[axis]} [{'rad/s' if axis == 5 else 'm/s'}]")
            if i == 0:
                plot.legend(loc="upper right", ncols=4)
        plot.set_xlabel("time, windows side by side [s]")
        return png(figure)


def _residuals(found: Fit) -> str:
    spread = np.sqrt(np.mean(found.residuals**2, axis=0))  # (K+1,12)
    with styled():
        figure = new_figure(11, 3.4)
        left, right = figure.subplots(1, 2)
        for i, name in enumerate(MEASURED):
            left.plot(spread[:, 3 * i : 3 * i + 3].mean(axis=1), color=COLOURS[i], label=name)
        left.axhline(1.0, color=INK, lw=0.8, ls="--")
        left.set(xlabel="step within the window", ylabel="RMS [sigma]", ylim=(0, None))
        left.legend(ncols=2)
        edges = np.linspace(-5, 5, 61)
        right.hist(found.residuals.ravel().clip(-5, 5), edges, density=True, color=COLOURS[0], alpha=0.7)
        right.plot(edges, np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi), color=INK, lw=1, ls="--")
        right.set(xlabel="residual [sigma]", ylabel="density")
        return png(figure)


def _correlation(found: Fit) -> str:
    sigma = np.sqrt(np.diag(found.covariance))
    shown = [i for i, u in enumerate(found.unknowns) if u.name not in found.unexcited]
    matrix = (found.covariance / np.outer(sigma, sigma))[np.ix_(shown, shown)]
    names = [found.unknowns[i].name for i in shown]
    with styled():
        figure = new_figure(9, 8)
        plot = figure.subplots()
        image = plot.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
        plot.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        plot.set_yticks(range(len(names)), names, fontsize=7)
        plot.grid(visible=False)
        figure.colorbar(image, shrink=0.6)
        return png(figure)
