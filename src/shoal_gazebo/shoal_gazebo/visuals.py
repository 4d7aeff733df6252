"""What a vehicle looks like: shapes from `visual_files/<type>.yaml`, a plain box for a type that has none."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import load_yaml
from shoal.vehicles.description import Vehicle

Triple = tuple[float, float, float]
FOLDER = Path(__file__).parent / "visual_files"

# Set apart at a glance, also by most colour-blind operators (Okabe and Ito).
ACCENTS: tuple[Triple, ...] = (
    (0.00, 0.45, 0.70), (0.90, 0.62, 0.00), (0.00, 0.62, 0.45), (0.84, 0.37, 0.00), (0.80, 0.47, 0.65),
    (0.34, 0.71, 0.91), (0.94, 0.89, 0.26), (0.85, 0.85, 0.85),
)  # fmt: skip


class Part(FileModel):
    """One visible shape."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    shape: Literal["box", "cylinder", "sphere"]
    size: Triple | None = None
    radius: float | None = Field(default=None, gt=0)
    length: float | None = Field(default=None, gt=0)
    at: Triple
    rpy_deg: Triple = (0.0, 0.0, 0.0)
    colour: str
    transparency: float = Field(default=0.0, ge=0, le=1)

    @model_validator(mode="after")
    def _has_its_size(self) -> Part:
        given = {k for k in ("size", "radius", "length") if getattr(self, k) is not None}
        wanted = {"box": {"size"}, "cylinder": {"radius", "length"}, "sphere": {"radius"}}[self.shape]
        if given != wanted:
            raise ValueError(f"{self.shape} '{self.name}' has {sorted(given)}, expected {sorted(wanted)}")
        return self


class Place(FileModel):
    """Where the camera sits."""

    at: Triple


class Lamp(Place):
    """A light that shines forward."""

    name: str


class Visual(FileModel):
    """A look file, validated."""

    colours: dict[str, Triple | Literal["accent"]]
    parts: tuple[Part, ...] = Field(min_length=1)
    thruster_still: tuple[Part, ...] = ()
    thruster_turning: tuple[Part, ...] = ()
    camera: Place
    lamps: tuple[Lamp, ...] = ()

    @model_validator(mode="after")
    def _colours_known(self) -> Visual:
        for part in (*self.parts, *self.thruster_still, *self.thruster_turning):
            if part.colour not in self.colours:
                raise ValueError(f"colour '{part.colour}' of '{part.name}', expected one of {', '.join(self.colours)}")
        return self

    def rgb(self, part: Part, accent: Triple) -> Triple:
        """The part's colour."""
        colour = self.colours[part.colour]
        return accent if colour == "accent" else colour


def load_visual(vehicle: Vehicle) -> Visual:
    """The look of a vehicle type."""
    path = FOLDER / f"{vehicle.name}.yaml"
    return load_yaml(path, Visual) if path.is_file() else _plain_box(vehicle)


def _plain_box(vehicle: Vehicle) -> Visual:
    hub = Part(name="hub", shape="sphere", radius=0.02, at=(0, 0, 0), colour="thruster")
    return Visual(
        colours={"hull": "accent", "thruster": (0.1, 0.1, 0.1)},
        parts=(Part(name="hull", shape="box", size=vehicle.size_m, at=(0, 0, 0), colour="hull"),),
        thruster_turning=(hub,),
        camera=Place(at=(vehicle.size_m[0] / 2 + 0.01, 0, 0)),
    )
