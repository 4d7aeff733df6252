"""The formation on `/fleet/formation`: who has which place and must see whom, as JSON in a std_msgs/String.

On the topic the formation's frame is FLU like any body's and its yaw counts from east, counter-clockwise (REP-103).
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from shoal.errors import ShoalError
from shoal.frames import flu_to_frd, frd_to_flu
from shoal.messages.placement import Placement


def formation_to_json(placement: Placement) -> str:
    """ShoalError for a radius that is a function: it cannot travel."""
    if callable(placement.radius_m):
        raise ShoalError("formation: the radius is a function; expected a number or a list of [t_s, radius_m]")
    headings = placement.headings_rad
    return json.dumps(
        {
            "offsets": {name: frd_to_flu(np.asarray(o)).tolist() for name, o in placement.offsets.items()},
            "radius_m": placement.radius_m,
            "headings_rad": None if headings is None else {name: -h for name, h in headings.items()},
            "yaw_rad": _other_yaw(placement.yaw_rad),
            "order": placement.order,
            "sight": placement.sight,
        }
    )


def formation_from_json(text: str) -> Placement:
    """The other way round; ShoalError when it cannot be read, or holds what is not a number."""
    try:
        data: dict[str, Any] = json.loads(text, parse_constant=_refuse)
        radius = data["radius_m"]
        headings = data["headings_rad"]
        offsets = {name: flu_to_frd(np.array(o, dtype=float)) for name, o in data["offsets"].items()}
        if any(o.shape != (3,) or not np.isfinite(o).all() for o in offsets.values()):
            raise ValueError("offsets are not three finite numbers each")
        return Placement(
            offsets=offsets,
            radius_m=tuple((_finite(t), _finite(r)) for t, r in radius)
            if isinstance(radius, list)
            else _finite(radius),
            headings_rad=None if headings is None else {name: -_finite(h) for name, h in headings.items()},
            yaw_rad=_other_yaw(_finite(data["yaw_rad"])),
            order=tuple(str(name) for name in data["order"]),
            sight=tuple((str(a), str(b)) for a, b in data["sight"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ShoalError(f"formation: {text[:60]!r} cannot be read ({error}); expected JSON of a formation") from None


def _schedule(radius: list[Any]) -> tuple[tuple[float, float], ...]:
    return tuple((_finite(t), _finite(r)) for t, r in radius)


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a finite number")


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is not a finite number")
    return number


def _other_yaw(yaw_rad: float) -> float:
    """From north clockwise ↔ from east counter-clockwise."""
    return float(np.pi / 2 - yaw_rad)
