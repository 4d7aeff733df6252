"""Classes found by name: a shipped word, or a user's own `package.module:Name`."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError


def is_dotted(name: str) -> bool:
    """Whether it names somebody's own class."""
    return ":" in name


def find(kind: str, name: str, shipped: Mapping[str, str]) -> Any:
    """The class behind a name; `shipped` gives `module:Name` for each of our own words, imported when asked for."""
    dotted = name if is_dotted(name) else shipped.get(name)
    if dotted is None:
        close = difflib.get_close_matches(name, shipped, n=1, cutoff=0.72)
        hint = (
            f"did you mean '{close[0]}'? (expected a known name" if close else f"expected one of {', '.join(shipped)}"
        )
        raise ShoalError(f"{kind} = '{name}': unknown; {hint}, or your own package.module:Name{')' * bool(close)}")
    module_name, _, attribute = dotted.partition(":")
    try:
        found: Any = _import(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ShoalError(f"{kind} = '{name}': {error}; expected an importable package.module:Name") from None
    if not callable(found):
        raise ShoalError(f"{kind} = '{name}': is no class; expected package.module:Name of a class")
    return found


def _import(module_name: str) -> Any:
    """As `python -m` would: a script's folder is not on the path of a console script, the working directory counts."""
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        here = str(Path.cwd())
        if error.name != module_name.partition(".")[0] or here in sys.path:
            raise
        sys.path.insert(0, here)
        importlib.invalidate_caches()
        return importlib.import_module(module_name)
