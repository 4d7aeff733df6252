"""Campaign files: which runs to make. `config/campaigns/*.yaml`, validated with the file and key in every complaint."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from shoal.campaigns.job import Job
from shoal.campaigns.sample import drawn
from shoal.campaigns.vary import combinations, varied
from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml, validate
from shoal.control.registry import ControllerFile, load_controller_file
from shoal.errors import ShoalError, in_file
from shoal.simulation.conditions import Condition, load_condition
from shoal.tasks.run import LONGEST_S, RunSpec, task_class

Inline = dict[str, Any]  # a condition written in place; needs a name
Record = Literal["none", "first", "failed", "worst", "all"]


class Cell(FileModel):
    """One line of a free list."""

    path: str = ""
    condition: str | Inline = "default"
    fleet: str | int = "2"
    controller: str = "nmpc"
    duration_s: float | None = Field(default=None, gt=0, le=LONGEST_S)
    runs: int | None = Field(default=None, ge=1)  # seeds at most; None: as many as the campaign
    changes: dict[str, Any] = Field(default_factory=dict)  # {sensors.stamp_offset_s: 0.3}: keys as in vary


class Campaign(FileModel):
    """paths × conditions × fleets × controllers × vary, and/or a list of cells; each with `runs` seeds."""

    name: str = ""
    description: str = ""
    source: str = ""
    task: str = Field(default="follow_path", description="shipped name or package.module:Name")
    task_settings: dict[str, Any] = Field(default_factory=dict)
    paths: tuple[str, ...] = ()  # of tasks that follow one
    conditions: tuple[str | Inline, ...] = Field(default=("default",), min_length=1)
    fleets: tuple[str | int, ...] = Field(default=("2",), min_length=1)
    controllers: tuple[str, ...] = Field(default=("nmpc",), min_length=1)  # shipped names, files or package.module:Name
    # {link.loss: [0, 0.3], controller.weights.position_xy: [20, 50]}: every combination, with each of the above
    vary: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    # Keys as in vary: every run is made with these instead, too, seed by seed; `shoal campaign compare` sets them
    # side by side. Runs that differ in nothing but these share one such baseline.
    baseline: dict[str, Any] = Field(default_factory=dict)
    metrics: tuple[str, ...] = ()  # package.module:NAME, beyond those of every run
    runs: int = Field(default=20, ge=1)  # seeds per cell; --runs overrides
    first_seed: int = Field(default=0, ge=0)
    sample: int | None = Field(default=None, ge=1)  # of all these runs, so many drawn at random; --sample overrides
    draw: int = Field(default=0, ge=0)  # which sample: the seed of the draw
    duration_s: float | None = Field(default=None, gt=0, le=LONGEST_S)  # None: the task's own
    control_period_s: float | None = Field(default=None, gt=0)  # None: the fleet file's
    record: Record = "worst"  # which runs keep a full recording; worst: of each cell, simulated again when all is done
    series_step_s: float = Field(default=1.0, gt=0)  # of the decimated time series kept of every run

    @model_validator(mode="after")
    def _choices_to_vary(self) -> Campaign:
        for key, values in self.vary.items():
            if not values:
                raise ValueError(f"vary.{key} has no values; expected at least one")
        return self

    @model_validator(mode="after")
    def _draw_of_a_sample(self) -> Campaign:
        if self.draw and self.sample is None:
            raise ValueError(f"draw is {self.draw} and does nothing; expected a sample with it")
        return self


def load_campaign(name_or_path: str | Path) -> Campaign:
    """By shipped name or file."""
    path = find_config("campaigns", name_or_path)
    campaign = load_yaml(path, Campaign)
    return campaign if campaign.name else campaign.model_copy(update={"name": path.stem})


def campaign_jobs(campaign: Campaign, file: str | Path = "campaign") -> list[Job]:
    """All runs, seed by seed: a campaign that is stopped early has every cell equally often."""
    with in_file(file):
        by_key = {job.key(): job for pair in _pairs(campaign, file) for job in pair}
        _refuse_two_contents(by_key, campaign.first_seed)
    return list(by_key.values())


def baseline_keys(campaign: Campaign, file: str | Path = "campaign") -> dict[str, str]:
    """From the key of each run to that of its baseline; empty for a campaign without."""
    return {job.key(): baseline.key() for job, *rest in _pairs(campaign, file) for baseline in rest}


def _pairs(campaign: Campaign, file: str | Path) -> list[tuple[Job, ...]]:
    """Each run, with its baseline if there is one."""
    with in_file(file):
        _check_paths(campaign)
        cells = [*_product(campaign), *_listed(campaign)]
        others = [{}, campaign.baseline] if campaign.baseline else [{}]
        specs = [tuple(varied(spec, choice | other) for other in others) for spec, choice in cells]
    listed = len(cells) - len(campaign.cells)  # a cell's own number counts for those of the free list
    seeds = [campaign.runs] * listed + [min(campaign.runs, cell.runs or campaign.runs) for cell in campaign.cells]
    runs = [(cell, run) for run in range(campaign.runs) for cell in range(len(cells)) if run < seeds[cell]]
    if campaign.sample is not None:
        kinds = [_kind(spec, choice) for spec, choice in cells]
        runs = [runs[i] for i in drawn([kinds[cell] for cell, _ in runs], campaign.sample, campaign.draw)]
    return [
        tuple(Job(RunSpec(**{**vars(s), "seed": campaign.first_seed + run}), campaign.metrics) for s in specs[cell])
        for cell, run in runs
    ]


def _kind(spec: RunSpec, choice: dict[str, Any]) -> Hashable:
    """Runs of which a sample has equally many: whatever is listed, but for paths, seeds and what is varied."""
    assert isinstance(spec.condition, Condition)
    assert isinstance(spec.controller, ControllerFile)
    return spec.condition.name, spec.fleet, spec.controller.name, tuple(choice)


def _product(campaign: Campaign) -> Iterator[tuple[RunSpec, dict[str, Any]]]:
    """Runs and what is changed in them. Conditions outside: a report keeps the order of the file."""
    follows = task_class(campaign.task).follows_path
    if follows and not campaign.paths:
        return
    conditions = [_condition(given) for given in campaign.conditions]
    for path in campaign.paths if follows else ("",):
        for condition in conditions:
            for fleet in campaign.fleets:
                for controller in campaign.controllers:
                    spec = _spec(campaign, path, condition, fleet, controller, campaign.duration_s)
                    for choice in combinations(campaign.vary):
                        yield spec, choice


def _listed(campaign: Campaign) -> Iterator[tuple[RunSpec, dict[str, Any]]]:
    for cell in campaign.cells:
        duration_s = cell.duration_s or campaign.duration_s
        spec = _spec(campaign, cell.path, _condition(cell.condition), cell.fleet, cell.controller, duration_s)
        yield spec, cell.changes


def _spec(
    campaign: Campaign, path: str, condition: Condition, fleet: str | int, controller: str, duration_s: float | None
) -> RunSpec:
    return RunSpec(
        path=path,
        fleet=str(fleet),
        condition=condition,
        controller=load_controller_file(controller),
        duration_s=duration_s,
        control_period_s=campaign.control_period_s,
        task=campaign.task,
        task_settings=campaign.task_settings,
    )


def _check_paths(campaign: Campaign) -> None:
    """A value in a file acts, or the file is refused."""
    given = [*campaign.paths, *(cell.path for cell in campaign.cells if cell.path)]
    if not task_class(campaign.task).follows_path:
        if given:
            raise ShoalError(f"paths = {given}: task '{campaign.task}' follows no path; expected none")
    elif not given:
        raise ShoalError("no paths and no cells; expected at least one of either")
    elif any(not cell.path for cell in campaign.cells):
        raise ShoalError(f"cells: one has no path; expected one for task '{campaign.task}'")


def _condition(given: str | Inline) -> Condition:
    if isinstance(given, str):
        return load_condition(given)
    if not given.get("name"):
        raise ShoalError(f"conditions: {given!r} has no name; expected one for a condition written in place")
    return validate(Path("conditions"), given, Condition)


def _refuse_two_contents(by_key: dict[str, Job], seed: int) -> None:
    """Two different runs of one name would be counted as one cell."""
    seen: set[tuple[str, ...]] = set()
    for job in by_key.values():
        if job.spec.seed != seed:
            continue
        if job.cell in seen:
            which = " · ".join(word for word in job.cell if word)
            raise ShoalError(f"two different cells are named '{which}'; expected a name for each")
        seen.add(job.cell)
