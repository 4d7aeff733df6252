"""JSON from topics and parameters: an object, or a sentence."""

from __future__ import annotations

import json
from typing import Any

from shoal.errors import ShoalError


def json_object(text: str, where: str, expected: str = "an object") -> dict[str, Any]:
    """A ShoalError in the name of `where`, also for what is nested by the thousand."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:100]
        raise ShoalError(f"{where}: {text[:60]!r} is not JSON ({problem}); expected {expected}") from None
    if not isinstance(data, dict):
        raise ShoalError(f"{where}: {text[:60]!r} is no JSON object; expected {expected}")
    return data
