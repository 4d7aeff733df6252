"""Campaign files: which runs to make. `config/campaigns/*.yaml`, validated with the file and key in every complaint."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from shoal.campaigns.job import DEFAULT_SIMULATE, Job
from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml, validate
from shoal.errors import ShoalError
from shoal.simulation.conditions import Condition, load_condition

Inline = dict[str, Any]  # a condition written in place; needs a name
Record = Literal["none", "first", "failed", "worst", "all"]


class Cell(FileModel):
    """One line of a free list; everything not given comes from the campaign's own first entries."""

    path: str
    condition: str | Inline = "default"
    fleet: str | int = "2"
    controller: str = "nmpc"
    duration_s: float | None = Field(default=None, gt=0)


class Campaign(FileModel):
    """paths × conditions × vary × fleets × controllers, and/or a list of cells; each with `runs` seeds."""

    name: str = ""
    description: str = ""
    source: str = ""
    paths: tuple[str, ...] = ()
    conditions: tuple[str | Inline, ...] = ("default",)
    vary: dict[str, tuple[Any, ...]] = Field(default_factory=dict)  # e.g. {link.loss: [0, 0.3]}: with every condition
    fleets: tuple[str | int, ...] = ("2",)
    controllers: tuple[str, ...] = ("nmpc",)
    cells: tuple[Cell, ...] = ()
    runs: int = Field(default=20, ge=1)  # seeds per cell; --runs overrides
    first_seed: int = Field(default=0, ge=0)
    duration_s: float | None = Field(default=None, gt=0)  # None: each path's own
    control_period_s: float | None = Field(default=None, gt=0)
    record: Record = "worst"  # which runs keep a full recording; worst: of each cell, simulated again when all is done
    series_step_s: float = Field(default=1.0, gt=0)  # of the decimated time series kept of every run
    simulate: str = DEFAULT_SIMULATE

    @model_validator(mode="after")
    def _something_to_run(self) -> Campaign:
        if not self.paths and not self.cells:
            raise ValueError("no paths and no cells; expected at least one of either")
        return self


def load_campaign(name_or_path: str | Path) -> Campaign:
    """By shipped name or file."""
    path = find_config("campaigns", name_or_path)
    campaign = load_yaml(path, Campaign)
    return campaign if campaign.name else campaign.model_copy(update={"name": path.stem})


def campaign_jobs(campaign: Campaign, file: str | Path = "campaign") -> list[Job]:
    """All runs, seed by seed: a campaign that is stopped early has every cell equally often."""
    conditions = [
        _varied(_condition(file, c), choice, file) for c in campaign.conditions for choice in _choices(campaign)
    ]
    _refuse_two_contents(conditions, file)
    cells: list[tuple[str, Condition, str, str, float | None]] = [
        (path, condition, str(fleet), controller, campaign.duration_s)
        for path, condition, fleet, controller in product(
            campaign.paths, conditions, campaign.fleets, campaign.controllers
        )
    ]
    cells += [
        (c.path, _condition(file, c.condition), str(c.fleet), c.controller, c.duration_s or campaign.duration_s)
        for c in campaign.cells
    ]
    jobs = [
        Job(path, fleet=fleet, condition=condition, seed=campaign.first_seed + run, controller=controller,
            duration_s=duration_s, control_period_s=campaign.control_period_s, simulate=campaign.simulate)
        for run in range(campaign.runs)
        for path, condition, fleet, controller, duration_s in cells
    ]  # fmt: skip
    return list({job.key(): job for job in jobs}.values())


def _condition(file: str | Path, given: str | Inline) -> Condition:
    if isinstance(given, str):
        return load_condition(given)
    if not given.get("name"):
        raise ShoalError(f"{file}: conditions: {given!r} has no name; expected one for a condition written in place")
    return validate(Path(file), given, Condition)


def _choices(campaign: Campaign) -> list[dict[str, Any]]:
    return [dict(zip(campaign.vary, values, strict=True)) for values in product(*campaign.vary.values())]


def _varied(condition: Condition, choice: dict[str, Any], file: str | Path) -> Condition:
    """The condition with dotted keys replaced, named after what was changed."""
    if not choice:
        return condition
    data = condition.model_dump(mode="json")
    for dotted, value in choice.items():
        *parents, last = dotted.split(".")
        place: Any = data
        for parent in parents:
            place = place.get(parent) if isinstance(place, dict) else None
        if not isinstance(place, dict) or last not in place:
            raise ShoalError(f"{file}: vary.{dotted}: is no key of a condition; expected for example link.loss")
        place[last] = value
    data["name"] = ", ".join([condition.name, *[f"{k.split('.')[-1]}={v}" for k, v in choice.items()]])
    return validate(Path(file), data, Condition)


def _refuse_two_contents(conditions: list[Condition], file: str | Path) -> None:
    seen: dict[str, str] = {}
    for condition in conditions:
        if seen.setdefault(condition.name, condition.content_hash()) != condition.content_hash():
            raise ShoalError(f"{file}: conditions: two different ones are named '{condition.name}'; expected one each")
