"""Sections on joined vehicles: the composite's numbers, and what the joints carried over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.assembly.composite import Composite
from shoal.assembly.file import load_assembly
from shoal.errors import ShoalError
from shoal.evaluation.joint_loads import JointLoads, joint_loads
from shoal.fleet.file import Fleet, load_fleet
from shoal.recordings.parquet import read_parquet
from shoal.recordings.recording import Recording
from shoal.reports.page import Part, png
from shoal.reports.plots.style import COLOURS, GREY, new_figure, styled
from shoal.vehicles.description import AXES
from shoal.vehicles.functions import VehicleModel
from shoal.vehicles.parameters import mass_matrix

MOST_LINES = 8  # of joints; of more, the median and the largest


def number_rows(composite: Composite) -> list[tuple[str, str, str]]:
    """Quantity, value, unit."""
    v = composite.vehicle
    return [
        ("mass", f"{v.mass_kg:.4g}", "kg"),
        ("weight − buoyancy", f"{v.weight_N - v.buoyancy_N:+.3g}", "N"),
        ("centre of gravity", "  ".join(f"{x:+.4f}" for x in v.cg_m), "m"),
        ("centre of buoyancy", "  ".join(f"{x:+.4f}" for x in v.cb_m), "m"),
        ("mass with added mass", "  ".join(f"{x:.4g}" for x in np.diag(mass_matrix(v))), "kg, kg m²"),
        ("size", " × ".join(f"{x:.3g}" for x in v.size_m), "m"),
        ("inputs", str(v.input_count), ""),
        ("controllable axes", ", ".join(axis for axis in AXES if axis in v.controlled_axes), ""),
    ]


def assembly_parts(rows: Sequence[Mapping[str, Any]], recordings: Mapping[str, Recording], folder: Path) -> list[Part]:
    """Of every fleet in which somebody is joined. `recordings`: by key; others are looked for in `folder`."""
    parts: list[Part] = []
    for name in dict.fromkeys(str(row["fleet"]) for row in rows):
        try:
            fleet = load_fleet(name)
        except ShoalError:
            continue  # made up, or of another computer
        for assembly in dict.fromkeys(m.assembly for m in fleet.vehicles if m.assembly is not None):
            parts.append(_numbers(name, assembly))
        runs = [row for row in rows if row["fleet"] == name]
        parts += _first_loads(name, fleet, runs, recordings, folder)
    return parts


def _numbers(fleet: str, assembly: str) -> Part:
    file = load_assembly(assembly)
    composite = file.composite()
    speeds = VehicleModel(composite.vehicle).top_speeds().values()
    rows = [
        *number_rows(composite),
        *(
            (f"top speed, {axis}", f"{forward:+.3f} / {reverse:+.3f}", "m/s" if i < 3 else "rad/s")
            for i, (axis, (forward, reverse)) in enumerate(zip(AXES, speeds, strict=True))
        ),
    ]
    explain = f"{len(file.modules)} modules and {len(file.joints)} joints, by description. {file.description}"
    return Part(f"Assembly {file.name} of fleet {Path(fleet).stem}", explain, ("quantity", "value", "unit"), rows)


def _first_loads(
    name: str, fleet: Fleet, runs: Sequence[Mapping[str, Any]], recordings: Mapping[str, Recording], folder: Path
) -> list[Part]:
    """Of the first run that has a recording and joints."""
    for row in runs:
        recording = recordings.get(row["key"])
        kept = folder / "recordings" / str(row["key"])
        if recording is None and kept.is_dir():
            recording = read_parquet(kept)
        loads = None if recording is None else joint_loads(recording, fleet)
        if loads is not None:
            what = " · ".join(str(row[k]) for k in ("path", "condition") if row.get(k)) + f" · seed {row['seed']}"
            return [loads_part(name, what, loads)]
    return []


def loads_part(fleet: str, what: str, loads: JointLoads) -> Part:
    """A table and a picture."""
    rows = []
    for j, (a, b) in enumerate(loads.pairs):
        there = np.isfinite(loads.force_N[:, j])
        if not there.any():
            continue
        times, force, moment = loads.times_s[there], loads.force_N[there, j], loads.moment_Nm[there, j]
        rows.append((f"{a} – {b}", f"{times[0]:.0f} … {times[-1]:.0f}", f"{np.median(force):.2f}", f"{force.max():.2f}",
                     f"{np.median(moment):.2f}", f"{moment.max():.2f}"))  # fmt: skip
    explain = (
        f"Fleet {Path(fleet).stem}, {what}: force and moment at the point that both share, from the recorded motion "
        "and thrust with the vehicles' described numbers; in a loop, which shares loads in many ways, the smallest. "
        "Gaps: not joined."
    )
    head = ("joint", "joined [s]", "force, median [N]", "largest", "moment, median [N m]", "largest")
    return Part("Joint loads over time", explain, head, rows, _picture(loads))


def _picture(loads: JointLoads) -> str:
    with styled():
        figure = new_figure(9.0, 4.6)
        above, below = figure.subplots(2, 1, sharex=True)
        for axes, values, word in ((above, loads.force_N, "force [N]"), (below, loads.moment_Nm, "moment [N m]")):
            if len(loads.pairs) <= MOST_LINES:
                for j, (a, b) in enumerate(loads.pairs):
                    axes.plot(loads.times_s, values[:, j], lw=1.2, color=COLOURS[j % len(COLOURS)], label=f"{a} – {b}",
                              ls="-" if j < len(COLOURS) else "--")  # fmt: skip
            else:
                axes.fill_between(loads.times_s, values.min(axis=1), values.max(axis=1), color=GREY, alpha=0.3,
                                  label=f"all {len(loads.pairs)} joints")  # fmt: skip
                axes.plot(loads.times_s, np.median(values, axis=1), color=COLOURS[0], label="median")
            axes.set_ylabel(word)
            axes.set_ylim(bottom=0.0)
        below.set_xlabel("time [s]")
        above.legend(loc="upper right", ncols=4)
        return png(figure)
