"""Vessels that assemble themselves, seed by seed: times, touches, who was given up; a table that can be resumed."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import ShoalError
from shoal.platform.manager import FleetManager
from shoal.simulation.world import World
from shoal.tasks.assemble import Assemble
from shoal.tasks.run import RunSpec, build_run

HARD_MPS = 0.04  # what hits faster is not caught by magnets either: a collision


@dataclass(frozen=True)
class Assembled:
    """One run; not-a-number: never."""

    seed: int
    complete_s: float  # as drawn, in the water too
    reshaped_s: float
    contact_mps: float  # hardest first touch of two hulls
    contact: str  # which, when, doing what
    hard_touches: int  # of any two, first or not, above 4 cm/s
    rounds: int
    failed: int
    given_up_s: float  # when the first was
    cells: int
    missing: int
    over_s: float  # when all was done, complete or not
    away_mm: float  # relative motion of members once the platform was complete: largest range

    @property
    def complete(self) -> bool:
        """Whether the blueprint was."""
        return math.isfinite(self.complete_s)


class Touches:
    """Watches hulls touch, with what everybody is doing then."""

    def __init__(self, manager: FleetManager, world: World) -> None:
        self._manager, self._world, self._seen = manager, world, 0
        self.first: dict[frozenset[str], tuple[float, str]] = {}  # speed, and in words
        self.hard = 0

    def look(self) -> None:
        """At every tick."""
        assert self._world.connectors is not None
        impacts = self._world.connectors.impacts
        for t_s, a, b, speed in impacts[self._seen :]:
            words = f"{t_s:.1f} s: {a} ({self._manager.phase_of(a)}) {b} ({self._manager.phase_of(b)})"
            self.first.setdefault(frozenset((a, b)), (speed, words))
            self.hard += speed > HARD_MPS
        self._seen = len(impacts)


def assembled(spec: RunSpec) -> Assembled:
    """One run of task assemble to its end."""
    run = build_run(spec)
    task, world = run.task, run.simulator.world
    assert isinstance(task, Assemble)
    touches, gaps = Touches(task.manager, world), list[np.ndarray]()

    def over(t_s: float) -> bool:
        touches.look()
        director = task.director_made
        if director is not None and director.done_s is not None and not director.stages_s:
            at = world.states[[world.names.index(n) for n in sorted(task.manager.members)], :2]
            gaps.append(np.linalg.norm(at[:, None] - at[None], axis=2))
        return task.finished(t_s, world.states)

    run.simulator.run(None, over)
    outcome, manager, director = run.recording().outcome, task.manager, task.director_made
    assert director is not None
    complete_s = math.nan if outcome is None or outcome.reached_s is None else outcome.reached_s
    over_s = math.nan if director.over_s is None else director.over_s
    given_up = [e.t_s for e in manager.events if e.what.endswith("given up")]
    speed, words = max(touches.first.values(), default=(0.0, ""))
    return Assembled(
        seed=spec.seed,
        complete_s=complete_s,
        reshaped_s=over_s if "into" in spec.task_settings and manager.complete else math.nan,
        contact_mps=speed,
        contact=words,
        hard_touches=touches.hard,
        rounds=manager.rounds_begun,
        failed=len(manager.failed),
        given_up_s=min(given_up, default=math.nan),
        cells=len(manager.cells),
        missing=len(manager.cells) - len(manager.members),
        over_s=over_s,
        away_mm=float(1e3 * np.ptp(gaps, axis=0).max()) if gaps else math.nan,
    )


def campaign(spec: dict[str, Any], seeds: Sequence[int], table: Path | None) -> Iterator[Assembled]:
    """Every seed once; those that `table` (CSV) has already are read from it, the others written to it."""
    known = {} if table is None or not table.exists() else {found.seed: found for found in _read(table)}
    for seed in seeds:
        if seed in known:
            yield known[seed]
            continue
        found = assembled(RunSpec(**spec, seed=seed))
        if table is not None:
            new = not table.exists()
            with table.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, [f.name for f in fields(Assembled)])
                if new:
                    writer.writeheader()
                writer.writerow(asdict(found))
        yield found


def _read(table: Path) -> list[Assembled]:
    types = {"int": int, "float": float, "str": str}
    names = [f.name for f in fields(Assembled)]
    with table.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != names:
            raise ShoalError(f"{table}: columns are {reader.fieldnames}; expected {names}, or no such file")
        try:
            return [Assembled(**{f.name: types[str(f.type)](row[f.name]) for f in fields(Assembled)}) for row in reader]
        except (TypeError, ValueError) as error:
            raise ShoalError(f"{table}: a row cannot be read ({error}); expected what this command wrote") from None
