"""A placement as JSON on `/fleet/formation` (std_msgs/String): who has which place and must see whom.

On the topic the formation's frame is FLU like any body's and its yaw counts from east, counter-clockwise (REP-103).
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from shoal.config.file_model import FileModel, Vector
from shoal.config.files import validate
from shoal.config.json_text import json_object
from shoal.errors import ShoalError
from shoal.frames import flu_to_frd, frd_to_flu
from shoal.messages import topics
from shoal.messages.placement import Placement

Radius = Annotated[float, Field(ge=0)]


class _Message(FileModel):
    """What the JSON must look like. Numbers that are not finite are refused, as in any file."""

    offsets: dict[str, Vector] = Field(min_length=1)
    radius_m: tuple[tuple[float, Radius], ...] = Field(min_length=1)  # (t_s, radius)
    headings_rad: dict[str, float] | None
    yaw_rad: float
    order: tuple[str, ...]
    sight: tuple[tuple[str, str], ...]

    @model_validator(mode="after")
    def _of_one_fleet(self) -> _Message:
        names = set(self.offsets)
        for key, found in (("order", set(self.order)), ("headings_rad", set(self.headings_rad or names))):
            if found != names:
                raise ValueError(f"{key} is of {sorted(found)}, expected {sorted(names)} as offsets")
        for name in {name for pair in self.sight for name in pair} - names:
            raise ValueError(f"sight names '{name}', expected one of {', '.join(self.offsets)}")
        times = [t for t, _ in self.radius_m]
        if any(b <= a for a, b in pairwise(times)):
            raise ValueError(f"radius_m has times {times}, expected increasing ones")
        return self


def formation_to_json(placement: Placement) -> str:
    """ShoalError for what cannot travel: a radius that is a function, a number that is not finite."""
    if callable(placement.radius_m):
        raise ShoalError("formation: the radius is a function; expected a number or a list of [t_s, radius_m]")
    headings = placement.headings_rad
    data = {
        "offsets": {name: frd_to_flu(np.asarray(o)).tolist() for name, o in placement.offsets.items()},
        "radius_m": placement.radius_m,
        "headings_rad": None if headings is None else {name: -h for name, h in headings.items()},
        "yaw_rad": _other_yaw(placement.yaw_rad),
        "order": placement.order,
        "sight": placement.sight,
    }
    try:
        return json.dumps(data, allow_nan=False)
    except ValueError:
        raise ShoalError(f"formation: {data} holds a number that is not finite; expected finite ones") from None


def formation_from_json(text: str) -> Placement:
    """The other way round; a ShoalError with key, value and expectation when it cannot be believed."""
    return formation_from_data(json_object(text, topics.FORMATION.name, "a formation"))


def formation_from_data(data: dict[str, Any]) -> Placement:
    """The same from what JSON made of it."""
    constant = "radius_m" in data and not isinstance(data["radius_m"], list)
    scheduled = data | ({"radius_m": [[0.0, data["radius_m"]]]} if constant else {})
    read = validate(Path(topics.FORMATION.name), scheduled, _Message)
    headings = read.headings_rad
    return Placement(
        offsets={name: flu_to_frd(np.array(offset)) for name, offset in read.offsets.items()},
        radius_m=read.radius_m[0][1] if constant else read.radius_m,
        headings_rad=None if headings is None else {name: -h for name, h in headings.items()},
        yaw_rad=_other_yaw(read.yaw_rad),
        order=read.order,
        sight=read.sight,
    )


def _other_yaw(yaw_rad: float) -> float:
    """From north clockwise ↔ from east counter-clockwise."""
    return math.pi / 2 - yaw_rad
