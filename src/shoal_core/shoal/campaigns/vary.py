"""A run with some of its settings changed, by dotted keys: one way for campaigns, `--set` and `shoal.vary`.

`link.loss` or `condition.link.loss` is a key of the condition, `controller.weights.position_xy` one of the controller's
settings, `runtime.lost_s` one of what is around it, `task.jitter_m` one of the task's. What was changed is part of the
name that the condition, the controller or the task then has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from shoal.config.files import validate
from shoal.control.registry import ControllerFile, controller_settings
from shoal.errors import ShoalError
from shoal.fleet.setup import runtime_settings
from shoal.simulation.conditions import Condition, load_condition
from shoal.tasks.run import RunSpec, load_inputs, task_class

ROOTS = ("condition", "controller", "runtime", "task")
PLAIN = tuple(f.name for f in fields(RunSpec) if f.name != "task_settings")  # replaced as a whole

Changes = Mapping[str, Any]


def combinations(choices: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Every combination; the last key changes fastest."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def varied(spec: RunSpec, changes: Changes, where: str = "vary", root: str = "condition") -> RunSpec:
    """The same run with these keys changed; `where` begins the sentence on a wrong one, `root` is of bare keys."""
    split = _by_root(changes, root)
    if split["condition"]:
        condition = load_condition(spec.condition) if isinstance(spec.condition, str) else spec.condition
        spec = replace(spec, condition=varied_condition(condition, split["condition"], where))
    if split["controller"] or split["runtime"]:
        controller = spec.controller if isinstance(spec.controller, ControllerFile) else load_inputs(spec)[2]
        spec = replace(spec, controller=varied_controller(controller, split["controller"], split["runtime"], where))
    if split["task"]:
        settings = _merged(spec.task_settings, split["task"])
        _checked(where, f"task {spec.task}", settings, task_class(spec.task).Settings)
        spec = replace(spec, task_settings=settings)
    return spec


def varied_condition(condition: Condition, changes: Changes, where: str) -> Condition:
    """Named after what was changed."""
    data = condition.model_dump(mode="json")
    for dotted, value in changes.items():
        *parents, last = dotted.split(".")
        place: Any = data
        for parent in parents:
            place = place.get(parent) if isinstance(place, dict) else None
        if not isinstance(place, dict) or last not in place:
            raise ShoalError(f"{where}.{dotted}: is no key of a condition; expected for example link.loss")
        place[last] = value
    data["name"] = _named(condition.name, changes)
    return _checked(where, "condition", data, Condition)


def varied_controller(file: ControllerFile, settings: Changes, runtime: Changes, where: str) -> ControllerFile:
    """Named after what was changed; checked as if the file had it."""
    changed = file.model_copy(
        update={
            "settings": _merged(file.settings, settings),
            "runtime": _merged(file.runtime, runtime),
            "name": _named(file.name or file.controller, {**settings, **runtime}),
        }
    )
    try:
        controller_settings(changed)
        runtime_settings(changed)
    except ShoalError as error:
        raise ShoalError(f"{where}: {error}") from None
    return changed


def _by_root(changes: Changes, root: str) -> dict[str, dict[str, Any]]:
    split: dict[str, dict[str, Any]] = {name: {} for name in ROOTS}
    for dotted, value in changes.items():
        first, _, rest = dotted.partition(".")
        if rest and first in ROOTS:
            split[first][rest] = value
        else:
            split[root][dotted] = value
    return split


def _merged(settings: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    """Nested mappings with dotted keys set; what is not there yet is made."""
    merged = dict(settings)
    for dotted, value in changes.items():
        first, _, rest = dotted.partition(".")
        inner = merged.get(first)
        merged[first] = _merged(inner if isinstance(inner, Mapping) else {}, {rest: value}) if rest else value
    return merged


def _named(name: str, changes: Changes) -> str:
    last = [dotted.rpartition(".")[2] for dotted in changes]
    words = [key if last.count(short) > 1 else short for key, short in zip(changes, last, strict=True)]
    return ", ".join([name, *(f"{word}={value}" for word, value in zip(words, changes.values(), strict=True))])


def _checked(where: str, what: str, data: dict[str, Any], model: type[Any]) -> Any:
    return validate(Path(f"{where}: {what}"), data, model)
