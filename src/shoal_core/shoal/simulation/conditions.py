"""A condition: everything about a run that is not the path, the fleet or the controller.

The defaults are the sea-trial plant: a vehicle that is *not* the controller's model. Files live in
`config/conditions/`; a file states only what differs from these defaults. Angles in degrees here, radians behind it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from shoal.config.files import find_config, load_yaml
from shoal.fleet.link import LinkSettings
from shoal.simulation.currents import Current, Frozen, Vector


class Plant(Frozen):
    """How the simulated vehicle differs from its description.

    The perturbation leaves W - B alone (both follow the mass): vehicles are trimmed with ballast before they dive, and
    20 % of the weight would be all that the thrusters lift. `mass_scale` is a deliberate change: it scales W, not B.
    """

    perturbation: float = Field(default=0.2, ge=0, lt=1)  # mass, damping, added mass: each times 1 ± U(perturbation)
    thruster_lag_s: tuple[float, float] = (0.1, 0.2)  # first-order time constant, drawn uniformly; (0, 0): none
    thruster_gain_spread: float = Field(default=0.05, ge=0, lt=1)  # each thruster's gain times 1 ± U(spread)
    # A command smaller than this gives no thrust. 0.2 N: the speed controller ignores ±25 µs of ±400 µs of throttle,
    # thrust goes with its square, and a T200 gives about 50 N at full throttle: (25/400)² · 50 N = 0.2 N.
    dead_band_N: float = Field(default=0.2, ge=0)
    mass_scale: float = Field(default=1.0, gt=0)
    added_mass_scale: float = Field(default=1.0, ge=0)
    damping_scale: float = Field(default=1.0, ge=0)
    inertia_scale: float = Field(default=1.0, gt=0)
    cg_offset_m: Vector = (0.0, 0.0, 0.0)  # body FRD, added to the centre of gravity

    @model_validator(mode="after")
    def _lag_is_a_range(self) -> Plant:
        low, high = self.thruster_lag_s
        if not 0 <= low <= high:
            raise ValueError(f"thruster_lag_s is [{low}, {high}]; expected 0 <= shortest <= longest")
        return self


class ControllerModel(Frozen):
    """How the controller's model differs from the vehicle's description (the thesis's wrong-model tests).

    A changed mass changes the weight (W = m g) too; that is what gave the thesis its depth error at twice the mass.
    """

    mass_scale: float = Field(default=1.0, gt=0)
    mass_kg: float | None = Field(default=None, gt=0)  # replaces the mass; mass_scale applies after it
    added_mass_scale: float = Field(default=1.0, ge=0)
    damping_scale: float = Field(default=1.0, ge=0)
    inertia_scale: float = Field(default=1.0, gt=0)
    cg_offset_m: Vector = (0.0, 0.0, 0.0)  # body FRD


class Sensors(Frozen):
    """Odometry errors. White Gaussian per axis unless said otherwise."""

    position_std_m: float = Field(default=0.02, ge=0)
    position_uniform_m: float = Field(default=0.0, ge=0)  # plus U(-a, a) on each axis, every sample
    position_bias_m: Vector = (0.0, 0.0, 0.0)  # NED, the same for all vehicles
    position_bias_std_m: float = Field(default=0.0, ge=0)  # plus a bias per axis, drawn once a run for each vehicle
    attitude_std_deg: float = Field(default=0.5, ge=0)
    velocity_std_mps: float = Field(default=0.01, ge=0)
    rate_std_dps: float = Field(default=0.5, ge=0)
    rate_hz: float | None = Field(default=None, gt=0)  # None: one sample each control period
    latency_s: float = Field(default=0.0, ge=0)


class Environment(Frozen):
    """The water. Currents add up."""

    currents: tuple[Current, ...] = ()


class Start(Frozen):
    """Start poses, drawn by the thesis's ready rule. radius_m = 0: exactly on the formation's places, facing right."""

    radius_m: float = Field(default=2.0, ge=0)  # around the path's start point
    angle_deg: float = Field(default=15.0, ge=0, le=180)  # heading error against the wanted one, and FOV angle
    min_distance_m: float = Field(default=1.5, ge=0)

    @model_validator(mode="after")
    def _room_for_all(self) -> Start:
        if self.radius_m > 0 and self.min_distance_m > 2 * self.radius_m:
            raise ValueError(
                f"min_distance_m is {self.min_distance_m}; expected at most twice radius_m = {self.radius_m}"
            )
        return self


class FormationChoice(Frozen):
    """How the vehicles share the setpoint instead of the fleet file's way. A ring needs its radius."""

    kind: Literal["point", "ring", "line"] = "point"
    radius_m: float | None = Field(default=None, gt=0)
    spacing_m: float | None = Field(default=None, gt=0)  # None: the fleet file's

    @model_validator(mode="after")
    def _ring_has_a_radius(self) -> FormationChoice:
        if (self.kind == "ring") != (self.radius_m is not None):
            raise ValueError(f"kind is '{self.kind}'; expected radius_m with kind 'ring' and only then")
        return self


class Stopped(Frozen):
    """A vehicle that fails for a while: `dead` thrusters give nothing, `hold` keeps station. Silent: sends no plans."""

    vehicle: int = Field(ge=0)  # index in the fleet
    from_s: float = Field(ge=0)
    to_s: float | None = None  # None: until the end
    mode: Literal["dead", "hold"] = "dead"
    silent: bool = False

    @model_validator(mode="after")
    def _runs_forward(self) -> Stopped:
        if self.to_s is not None and self.to_s <= self.from_s:
            raise ValueError(f"to_s is {self.to_s}; expected more than from_s = {self.from_s}")
        return self


class Condition(Frozen):
    """One line of the results table."""

    name: str = ""  # from the file name
    description: str = ""
    source: str = ""
    plant: Plant = Plant()
    controller_model: ControllerModel = ControllerModel()
    link: LinkSettings = LinkSettings()
    sensors: Sensors = Sensors()
    environment: Environment = Environment()
    start: Start = Start()
    formation: FormationChoice | None = None  # None: the fleet file's
    stopped: tuple[Stopped, ...] = ()
    control_delay_periods: int = Field(default=1, ge=0, le=20)  # from odometry to the thrust that answers it

    def content_hash(self) -> str:
        """Of what acts on a run: equal conditions under two names have equal hashes."""
        data = self.model_dump(mode="json", exclude={"name", "description", "source"})
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]


def load_condition(name_or_path: str | Path) -> Condition:
    """By shipped name or file; its name is the file's unless the file gives one."""
    path = find_config("conditions", name_or_path)
    condition = load_yaml(path, Condition)
    return condition if condition.name else condition.model_copy(update={"name": path.stem})
