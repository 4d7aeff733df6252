"""Which axis and button of a pad means what: `config/joysticks/*.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml

Number = Field(ge=0, le=63)
Preset = Literal["manual", "stabilise", "depth_hold", "position_hold", "guided", "fleet"]


class Axis(FileModel):
    """An axis of sensor_msgs/Joy, -1 to 1, and which way counts."""

    axis: int = Number
    sign: Literal[-1, 1] = 1


class Trigger(FileModel):
    """An axis that springs back to one end."""

    axis: int = Number
    rest: float = Field(default=1.0, ge=-1, le=1)
    pressed: float = Field(default=-1.0, ge=-1, le=1)

    @model_validator(mode="after")
    def _moves(self) -> Trigger:
        if abs(self.rest - self.pressed) < 0.5:
            raise ValueError(f"rest = {self.rest} and pressed = {self.pressed}, expected values well apart")
        return self


class Axes(FileModel):
    """Sticks. Directions of the map: ENU."""

    east: Axis
    north: Axis
    yaw: Axis  # counter-clockwise seen from above


class Triggers(FileModel):
    """Depth."""

    up: Trigger
    down: Trigger


class Buttons(FileModel):
    """The dead man is a must; the others ask for a mode, hold at any time and the rest while the dead man is held."""

    dead_man: int = Number
    manual: int | None = Field(default=None, ge=0, le=63)
    hold: int | None = Field(default=None, ge=0, le=63)
    waypoints: int | None = Field(default=None, ge=0, le=63)
    test: int | None = Field(default=None, ge=0, le=63)

    def modes(self) -> dict[str, int]:
        """Those that are given."""
        given = {m: getattr(self, m) for m in ("manual", "hold", "waypoints", "test")}
        return {mode: button for mode, button in given.items() if button is not None}


class StickLimits(FileModel):
    """At full deflection."""

    horizontal_mps: float = Field(default=0.4, gt=0, le=5)
    vertical_mps: float = Field(default=0.2, gt=0, le=5)
    yaw_degps: float = Field(default=8.0, gt=0, le=90)


class Layout(FileModel):
    """A joystick file, validated."""

    version: int = Field(ge=1, le=1)
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    axes: Axes
    triggers: Triggers
    buttons: Buttons
    presets: dict[Preset, Annotated[int, Number]] = Field(
        default_factory=dict, description="buttons of a pilot, by the autopilot's preset; with the dead man"
    )
    dead_zone: float = Field(default=0.1, ge=0, le=0.9)
    limits: StickLimits = StickLimits()

    @model_validator(mode="after")
    def _each_once(self) -> Layout:
        used = [*(a.axis for a in (self.axes.east, self.axes.north, self.axes.yaw)),
                *(t.axis for t in (self.triggers.up, self.triggers.down))]  # fmt: skip
        if len(set(used)) != len(used):
            raise ValueError(f"axes {used} repeat a number, expected each axis once")
        pressed = [self.buttons.dead_man, *self.buttons.modes().values()]
        if len(set(pressed)) != len(pressed):
            raise ValueError(f"buttons {pressed} repeat a number, expected each button once")
        chosen = [self.buttons.dead_man, *self.presets.values()]
        if len(set(chosen)) != len(chosen):
            raise ValueError(f"presets {self.presets} repeat a button or the dead man's, expected each button once")
        return self


def load_layout(name_or_path: str | Path) -> Layout:
    """By name in config/joysticks, or a file."""
    return load_yaml(find_config("joysticks", name_or_path), Layout)


def check(path: Path) -> str:
    """For `shoal check`: what is in the file, in a few words."""
    layout = load_layout(path)
    return f"joystick {layout.name}, dead man on button {layout.buttons.dead_man}"
