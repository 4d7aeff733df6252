"""A formation as text, as it travels on `/fleet/formation`: who stands where, and who must see whom. Core frames."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from shoal.errors import ShoalError
from shoal.guidance.slots import Slots

Sight = tuple[tuple[str, str], ...]  # (seer, seen)


def slots_to_json(slots: Slots, sight: Sight) -> str:
    """One line; equal formations give equal text, so that a latched topic changes only when the formation does."""
    if callable(slots.radius_m):
        raise ShoalError("formation: radius_m is a function; expected a number or a schedule to send")
    return json.dumps(
        {
            "offsets": {name: np.asarray(offset).tolist() for name, offset in slots.offsets.items()},
            "radius_m": slots.radius_m,
            "headings_rad": None if slots.headings_rad is None else dict(slots.headings_rad),
            "yaw_rad": slots.yaw_rad,
            "order": slots.order,
            "sight": sight,
        },
        sort_keys=True,
    )


def slots_from_json(text: str) -> tuple[Slots, Sight]:
    """What `slots_to_json` wrote; a ShoalError when it is something else."""
    try:
        data: Any = json.loads(text)
        radius, headings = data["radius_m"], data["headings_rad"]
        slots = Slots(
            {str(name): np.array(offset, dtype=float).reshape(3) for name, offset in data["offsets"].items()},
            tuple((float(t), float(r)) for t, r in radius) if isinstance(radius, list) else float(radius),
            None if headings is None else {str(name): float(heading) for name, heading in headings.items()},
            float(data["yaw_rad"]),
            tuple(map(str, data["order"])),
        )
        sight = tuple((str(a), str(b)) for a, b in data["sight"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ShoalError(
            f"formation: {text[:60]!r} cannot be read ({type(error).__name__}: {error}); "
            "expected the JSON of /fleet/formation"
        ) from None
    return slots, sight
