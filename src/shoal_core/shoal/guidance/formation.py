"""How a fleet stands around its common point, and who takes which place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError, model_validator

from shoal.config.file_model import FileModel
from shoal.errors import ShoalError
from shoal.guidance.assignment import assign_corners, assign_slots
from shoal.messages.placement import Placement, Radius, radius_at, turned

Array = NDArray[np.float64]


class Formation(FileModel):
    """As files and operators give it.

    point: Fosso 2023's common point, shared at the corners of a regular polygon of side `spacing_m` around it (two
    vehicles: on both sides), facing inward. ring: the same with a given radius, which may change with time; without one
    the radius follows from `spacing_m`, which otherwise is the least distance between neighbours. line:
    `spacing_m` apart along `line_deg` (90: abreast). offsets: given by name, in metres. `heading_deg` is for line and
    offsets and relative to the formation's yaw; without it the controller chooses.
    """

    kind: Literal["point", "ring", "line", "offsets"] = "point"
    spacing_m: float = Field(default=2.0, gt=0.0, le=10_000, allow_inf_nan=False)
    radius_m: Radius | None = None
    line_deg: float = 90.0
    offsets_m: Mapping[str, tuple[float, float, float]] | None = None
    heading_deg: float | None = None

    @model_validator(mode="after")
    def _complete(self) -> Formation:
        if self.kind != "ring" and self.radius_m is not None:
            raise ValueError(f"expected radius_m with kind 'ring' only, not kind '{self.kind}'")
        if (self.kind == "offsets") != (self.offsets_m is not None):
            raise ValueError(f"expected offsets_m with kind 'offsets' and only then, not kind '{self.kind}'")
        if self.heading_deg is not None and self.kind in ("point", "ring"):
            raise ValueError(f"expected no heading_deg with kind '{self.kind}', whose vehicles face inward")
        if isinstance(self.radius_m, tuple) and (
            not self.radius_m or np.any(np.diff(self.radius_m, axis=0)[:, 0] <= 0)
        ):
            raise ValueError("expected radius_m to list [t_s, radius_m] at rising times")
        if self.radius_m is not None and self._smallest_radius_m(0.0) <= 0:
            raise ValueError("expected radius_m > 0 at all times")
        return self

    def changed(self, **given: Any) -> Formation:
        """The same with other values; what the new kind has no use for is dropped."""
        data = self.model_dump(exclude_none=True) | {k: v for k, v in given.items() if v is not None}
        unused = {
            "radius_m": data["kind"] != "ring",
            "offsets_m": data["kind"] != "offsets",
            "heading_deg": data["kind"] in ("point", "ring"),
        }
        kept = {k: v for k, v in data.items() if not unused.get(k) or k in given}
        try:
            return Formation.model_validate(kept)
        except ValidationError as error:
            reasons = "; ".join(str(item["msg"]).removeprefix("Value error, ") for item in error.errors())
            raise ShoalError(f"formation: {reasons}") from None

    def assign(
        self, names: Sequence[str], positions_m: Array, center_m: Array, yaw_rad: float = 0.0, t_s: float = 0.0
    ) -> Placement:
        """Placement for vehicles now at `positions_m` (V,3), such that the sum of squared distances to go is least.

        The order of `names` does not matter. Polygons and rings also choose how they are turned.
        """
        if len(set(names)) != len(names) or np.shape(positions_m) != (len(names), 3):
            raise ShoalError(
                f"formation: {list(names)} at positions of shape {np.shape(positions_m)}; "
                "expected different names with three coordinates each"
            )
        by_name = sorted(range(len(names)), key=lambda i: names[i])
        ordered = [names[i] for i in by_name]
        points_m = turned(np.asarray(positions_m, dtype=float)[by_name] - np.asarray(center_m), -yaw_rad)
        if self.kind in ("point", "ring"):
            return self._around(ordered, points_m, yaw_rad, t_s)
        offsets = self._given(ordered) if self.kind == "offsets" else assign_slots(points_m, self._line(len(ordered)))
        headings = None if self.heading_deg is None else dict.fromkeys(ordered, float(np.radians(self.heading_deg)))
        along = offsets @ self._line_axis() if self.kind == "line" else np.arctan2(offsets[:, 1], offsets[:, 0])
        order = tuple(ordered[i] for i in np.argsort(along, kind="stable"))
        return Placement(dict(zip(ordered, offsets, strict=True)), 1.0, headings, yaw_rad, order)

    def nearest_places_m(self, names: Sequence[str]) -> tuple[float, str]:
        """The smallest distance between two places, whoever takes them, and which places those are."""
        if self.kind in ("point", "ring"):
            radius = self._radius(len(names), 0.0)
            side_m = (
                2 * np.sin(np.pi / len(names)) * (radius if self.radius_m is None else self._smallest_radius_m(0.0))
            )
            return float(side_m) if len(names) > 1 else np.inf, "neighbours on the polygon"
        places_m = self._given(list(names)) if self.kind == "offsets" else self._line(len(names))
        gap_m, a, b = closest(places_m)
        return gap_m, f"the places of {names[a]} and {names[b]}" if self.kind == "offsets" else "neighbours on the line"

    def _around(self, names: list[str], points_m: Array, yaw_rad: float, t_s: float) -> Placement:
        """Corners of a regular polygon, facing inward."""
        radius_m = self._radius(len(names), t_s)
        corners = assign_corners(points_m)
        bearings = np.arctan2(corners[:, 1], corners[:, 0])
        inward = None if radius_m == 0.0 else dict(zip(names, (bearings + np.pi).tolist(), strict=True))
        order = tuple(names[i] for i in np.argsort((bearings - bearings[0]) % (2 * np.pi), kind="stable"))
        return Placement(dict(zip(names, corners, strict=True)), radius_m, inward, yaw_rad, order)

    def _radius(self, count: int, t_s: float) -> Radius:
        """That of the file, or that which puts `count` vehicles `spacing_m` apart."""
        chord = 2 * np.sin(np.pi / count) if count > 1 else 0.0  # side over radius
        if self.radius_m is None:
            return self.spacing_m / chord if chord else 0.0
        if chord * self._smallest_radius_m(t_s) < self.spacing_m * (1 - 1e-9) and count > 1:
            raise ShoalError(
                f"formation: radius_m = {self._smallest_radius_m(t_s):.3g} puts {count} vehicles "
                f"{chord * self._smallest_radius_m(t_s):.3g} m apart; "
                f"expected at least {self.spacing_m / chord:.3g} for spacing_m = {self.spacing_m:.3g}"
            )
        return self.radius_m

    def _smallest_radius_m(self, t_s: float) -> float:
        """Over all times; of a callable, which nobody can search, at `t_s`."""
        assert self.radius_m is not None
        times = [t for t, _ in self.radius_m] if isinstance(self.radius_m, tuple) else [t_s]
        return float(np.min(radius_at(self.radius_m, np.array(times))[0]))

    def _line_axis(self) -> Array:
        return np.array([np.cos(np.radians(self.line_deg)), np.sin(np.radians(self.line_deg)), 0.0])

    def _line(self, count: int) -> Array:
        return np.outer((np.arange(count) - (count - 1) / 2) * self.spacing_m, self._line_axis())

    def _given(self, names: list[str]) -> Array:
        assert self.offsets_m is not None
        for name in names:
            if name not in self.offsets_m:
                raise ShoalError(
                    f"formation: offsets_m has no '{name}'; expected an offset for each of: {', '.join(names)}"
                )
        return np.array([self.offsets_m[name] for name in names], dtype=float)


def closest(points_m: Array) -> tuple[float, int, int]:
    """Smallest distance of any two of (V,3), and of which."""
    gaps = np.linalg.norm(points_m[:, None] - points_m[None], axis=2)
    gaps[np.tril_indices(len(gaps))] = np.inf
    a, b = np.unravel_index(int(np.argmin(gaps)), gaps.shape)
    return float(gaps[a, b]), int(a), int(b)
