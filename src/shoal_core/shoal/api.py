"""What `import shoal` offers beyond the classes of the rooms: simulate, vary and plot in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.campaigns.vary import PLAIN, ROOTS, combinations, varied
from shoal.errors import ShoalError
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec
from shoal.tasks.run import simulate as _simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def simulate(
    spec: RunSpec | None = None, *, progress: Callable[[float], None] | None = None, **changes: Any
) -> Recording:
    """One run: `simulate(path="torus", fleet=3, condition="loss_70", seed=1)`, or of a RunSpec, changed or not.

    `changes` are fields of RunSpec; `progress` gets the share done, 0 to 1. The same spec gives the same run, bit for
    bit. Names, files and loaded values will do for fleet, condition and controller.
    """
    if isinstance(changes.get("fleet"), int):
        changes["fleet"] = str(changes["fleet"])
    return _simulate(replace(spec or RunSpec(), **changes), progress)


def vary(spec: RunSpec, choices: Mapping[str, Iterable[Any]]) -> list[RunSpec]:
    """Every combination of `choices`, the last key changing fastest.

    A key is a field of RunSpec (`seed`, `path`, `fleet`, `condition`, `controller`, …) or a dotted one inside the
    condition, the controller's settings, the runtime around it or the task: `condition.link.loss`,
    `controller.weights.position_xy`, `runtime.lost_s`, `task.jitter_m`. What was changed becomes part of the name.
    """
    for key in choices:
        if key not in PLAIN and key.partition(".")[0] not in ROOTS:
            raise ShoalError(
                f"vary: '{key}': unknown; expected one of {', '.join(PLAIN)}, or a key of "
                f"{', '.join(f'{root}.…' for root in ROOTS)}"
            )
    specs = []
    for choice in combinations(choices):
        plain = {key: value for key, value in choice.items() if key in PLAIN}
        if isinstance(plain.get("fleet"), int):
            plain["fleet"] = str(plain["fleet"])
        dotted = {key: value for key, value in choice.items() if key not in PLAIN}
        specs.append(varied(replace(spec, **plain), dotted))
    return specs


def plot(recording: Recording, file: str | Path | None = None) -> Figure:
    """Tracks from above, depth, sight angles and distances; written to `file` (PNG, SVG, PDF) if given."""
    from shoal.reports.plots.run_plot import draw_run
    from shoal.reports.plots.style import save

    figure: Figure = draw_run(recording)
    if file is not None:
        save(figure, Path(file))
    return figure
