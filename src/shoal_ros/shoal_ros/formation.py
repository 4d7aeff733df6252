"""The formation on `/fleet/formation`: who has which place and must see whom, as JSON in a std_msgs/String.

On the topic the formation's frame is FLU like any body's and its yaw counts from east, counter-clockwise (REP-103).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import ShoalError
from shoal.fleet.topology import Pairs
from shoal.frames import flu_to_frd, frd_to_flu
from shoal.messages.placement import Placement


@dataclass(frozen=True)
class FormationNews:
    """What guidance tells the controllers."""

    slots: Placement
    sight: Pairs  # (a, b): a must see b


def formation_to_json(news: FormationNews) -> str:
    """ShoalError for a radius that is a function: it cannot travel."""
    slots = news.slots
    if callable(slots.radius_m):
        raise ShoalError("formation: the radius is a function; expected a number or a list of [t_s, radius_m]")
    headings = slots.headings_rad
    return json.dumps(
        {
            "offsets": {name: frd_to_flu(np.asarray(o)).tolist() for name, o in slots.offsets.items()},
            "radius_m": slots.radius_m,
            "headings_rad": None if headings is None else {name: -h for name, h in headings.items()},
            "yaw_rad": _other_yaw(slots.yaw_rad),
            "order": slots.order,
            "sight": news.sight,
        }
    )


def formation_from_json(text: str) -> FormationNews:
    """The other way round; ShoalError when it cannot be read."""
    try:
        data: dict[str, Any] = json.loads(text)
        radius = data["radius_m"]
        headings = data["headings_rad"]
        slots = Placement(
            offsets={name: flu_to_frd(np.array(o, dtype=float)) for name, o in data["offsets"].items()},
            radius_m=tuple((float(t), float(r)) for t, r in radius) if isinstance(radius, list) else float(radius),
            headings_rad=None if headings is None else {name: -float(h) for name, h in headings.items()},
            yaw_rad=_other_yaw(float(data["yaw_rad"])),
            order=tuple(str(name) for name in data["order"]),
        )
        return FormationNews(slots, tuple((str(a), str(b)) for a, b in data["sight"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ShoalError(f"formation: {text[:60]!r} cannot be read ({error}); expected JSON of a formation") from None


def _other_yaw(yaw_rad: float) -> float:
    """From north clockwise ↔ from east counter-clockwise."""
    return float(np.pi / 2 - yaw_rad)
