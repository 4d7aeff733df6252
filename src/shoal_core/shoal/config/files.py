"""Finding and reading configuration files, with one clear sentence for each thing that can be wrong."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from shoal.config.validation_errors import describe
from shoal.errors import ShoalError

Model = TypeVar("Model", bound=BaseModel)

KINDS = (
    "vehicles",
    "assemblies",
    "fleets",
    "controllers",
    "conditions",
    "campaigns",
    "joysticks",
    "paths",
    "thrusters",
)


DEEPEST = 50  # levels of lists and mappings in a file
DEEPEST_SAFE = 1000  # that libyaml's recursion bears, with room
MOST_VALUES = 1_000_000


def config_roots() -> Iterator[Path]:
    """Folders that may hold `config/`, nearest first: $SHOAL_CONFIG, the checkout, installed share folders."""
    if chosen := os.environ.get("SHOAL_CONFIG"):
        yield Path(chosen)
    for parent in Path(__file__).resolve().parents:
        if (parent / "config" / "vehicles").is_dir():
            yield parent / "config"
            break
    for prefix in [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]:
        if prefix:
            yield Path(prefix) / "share" / "shoal_bringup" / "config"


def list_configs(kind: str) -> list[str]:
    """Names that `find_config(kind, name)` knows."""
    return sorted({f.stem for root in config_roots() for f in (root / kind).glob("*.yaml")})


def find_config(kind: str, name_or_path: str | Path) -> Path:
    """A path if it exists, else the shipped file of that name."""
    path = Path(name_or_path)
    if os.path.isfile(path):  # unlike Path.is_file, also says no to a name that no file can have
        return path
    if path.suffix in {".yaml", ".yml"} or len(path.parts) > 1:
        raise ShoalError(f"{path}: file not found; expected a YAML file of kind '{kind}'")
    for root in config_roots():
        candidate = root / kind / f"{name_or_path}.yaml"
        if os.path.isfile(candidate):
            return candidate
    raise ShoalError(f"{kind}: {unknown(str(name_or_path), list_configs(kind), 'a file')}")


def unknown(name: str, known: Sequence[str], else_: str) -> str:
    """`'defualt' is unknown; did you mean 'default'?`, or all names there are when none is near."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.72)
    if close:
        return f"'{name[:80]}' is unknown; did you mean '{close[0]}'? (expected {else_} or a known name)"
    return f"'{name[:80]}' is unknown; expected {else_} or one of: {', '.join(known) or 'none'}"


_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster where libyaml is built in


class _UniqueKeyLoader(_Loader):
    """YAML silently keeps the last of two equal keys; a vehicle with two masses is a mistake worth telling."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """PyYAML itself lets Python's own exceptions through for a 13th month or a tag that does not fit."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
            kind = str(node.tag).rpartition(":")[2]
            shown = str(node.value)[:40] if isinstance(node, yaml.ScalarNode) else "this"
            raise yaml.constructor.ConstructorError(None, None, f"'{shown}' is no {kind}", node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise yaml.constructor.ConstructorError(None, None, "a key is no text", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key '{key}' appears twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """The file's mapping, or a ShoalError that says where it is not YAML."""
    try:
        text = path.read_text(encoding="utf-8")
        _check_nesting(path, text)
        data = yaml.load(text, Loader=_UniqueKeyLoader)
    except OSError as error:
        raise ShoalError(f"{path}: cannot be read ({error.strerror}); expected a YAML file") from None
    except UnicodeDecodeError:
        raise ShoalError(f"{path}: is not UTF-8 text; expected a YAML file") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        raise ShoalError(f"{path}: not valid YAML{where}: {problem}; expected key: value pairs") from None
    if not isinstance(data, dict):
        found = "empty" if data is None else f"a {type(data).__name__}"
        raise ShoalError(f"{path}: is {found}; expected a mapping of keys to values")
    _check_size(path, data)
    return data


def _check_nesting(path: Path, text: str) -> None:
    """libyaml builds its nodes by recursion and takes the process with it where they are nested by the thousand."""
    if sum(map(text.count, ("[", "{", "- ", "? "))) < DEEPEST_SAFE and len(text) < DEEPEST_SAFE**2 // 2:
        return  # too short to be nested like that
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            _too_deep(path)


def _check_size(path: Path, data: Any) -> None:
    """Aliases (`*name`) make a few lines into billions of values, or into one that holds itself."""
    values, depth, here = 0, 0, [data]
    while here:
        below = [
            value for entry in here if isinstance(entry, dict | list | tuple)
            for value in (entry.values() if isinstance(entry, dict) else entry)
        ]  # fmt: skip
        values, depth, here = values + len(below), depth + 1, below
        if depth > DEEPEST:
            _too_deep(path)
        if values > MOST_VALUES:
            raise ShoalError(f"{path}: has more than {MOST_VALUES} values; expected fewer")


def _too_deep(path: Path) -> NoReturn:
    raise ShoalError(f"{path}: is nested more than {DEEPEST} levels deep; expected a configuration file")


def load_yaml(path: Path, model: type[Model]) -> Model:
    """Read and validate; the first mistakes come back as sentences with file, key, value and expectation."""
    return validate(path, read_yaml(path), model)


def validate(path: Path, data: dict[str, Any], model: type[Model]) -> Model:
    """`model` made of `data`; a ShoalError in the name of `path` when it does not fit."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ShoalError(describe(path, error, model)) from None
