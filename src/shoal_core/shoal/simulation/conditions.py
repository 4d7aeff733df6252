"""A condition: everything about a run that is not the path, the fleet or the controller.

The defaults are the sea-trial plant: a vehicle that is *not* the controller's model. Files live in
`config/conditions/`; a file states only what differs from these defaults. Angles in degrees here, radians behind it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

from pydantic import Field, NonNegativeFloat, model_validator

from shoal.config.file_model import FileModel, Vector
from shoal.config.files import find_config, load_yaml
from shoal.fleet.link import LinkSettings
from shoal.simulation.currents import Current
from shoal.simulation.fault_entry import Fault as Fault
from shoal.simulation.navigation_errors import Jumps, Outliers, Spells


class Change(FileModel):
    """How reality differs from the vehicle file: a factor, or another value. Two numbers: drawn between them."""

    scale: float | tuple[float, float] | None = None
    replace: float | tuple[float, float] | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Change:
        if (self.scale is None) == (self.replace is None):
            raise ValueError("expected either scale or replace")
        low, high = self.range
        if not 0 <= low <= high:
            raise ValueError(f"range is [{low}, {high}]; expected 0 <= smallest <= largest")
        return self

    @property
    def range(self) -> tuple[float, float]:
        """Of the factor or of the value."""
        given = self.scale if self.scale is not None else self.replace
        assert given is not None
        return given if isinstance(given, tuple) else (given, given)

    def apply(self, described: float, share: float) -> float:
        """The value, `share` of 0 to 1 along the range."""
        low, high = self.range
        value = low + (high - low) * share
        return described * value if self.scale is not None else value


class PlantThrusters(FileModel):
    """How the simulated thrusters differ from their description."""

    lag: Change = Change(scale=(2 / 3, 4 / 3))  # first-order time constant, one draw for the vehicle
    # Twice the description's: the speed controller ignores ±25 µs of ±400 µs of throttle, thrust goes with its square,
    # and a T200 gives about 50 N at full throttle: (25/400)² · 50 N = 0.2 N.
    dead_band: Change = Change(scale=2.0)  # a command smaller than this gives no thrust
    gain_scale: float = Field(default=1.0, gt=0)  # thrust of all of them, times
    gain_spread: float = Field(default=0.05, ge=0, lt=1)  # each thruster's gain times 1 ± U(spread)


class Plant(FileModel):
    """How the simulated vehicle differs from its description.

    The perturbation leaves W - B alone (both follow the mass): vehicles are trimmed with ballast before they dive, and
    20 % of the weight would be all that the thrusters lift. `mass_scale` is a deliberate change: it scales W, not B.
    """

    parameter_set: str | None = None  # of the vehicle file, instead of the fleet's; what is believed stays
    perturbation: float = Field(default=0.2, ge=0, lt=1)  # mass, damping, added mass: each times 1 ± U(perturbation)
    thrusters: PlantThrusters = PlantThrusters()
    mass_scale: float = Field(default=1.0, gt=0)
    added_mass_scale: float = Field(default=1.0, ge=0)
    damping_scale: float = Field(default=1.0, ge=0)
    inertia_scale: float = Field(default=1.0, gt=0)
    cg_offset_m: Vector = (0.0, 0.0, 0.0)  # body FRD, added to the centre of gravity


class ControllerModel(FileModel):
    """How the controller's model differs from the vehicle's description (Fosso 2023's wrong-model tests).

    A changed mass changes the weight (W = m g) too; that is what gave Fosso 2023 its depth error at twice the mass.
    """

    parameter_set: str | None = None  # of the vehicle file, instead of the fleet's
    mass_scale: float = Field(default=1.0, gt=0)
    mass_kg: float | None = Field(default=None, gt=0)  # replaces the mass; mass_scale applies after it
    added_mass_scale: float = Field(default=1.0, ge=0)
    damping_scale: float = Field(default=1.0, ge=0)
    inertia_scale: float = Field(default=1.0, gt=0)
    cg_offset_m: Vector = (0.0, 0.0, 0.0)  # body FRD
    thruster_lag: Change | None = Change(scale=1.0)  # as believed; None: as it is, which no real controller knows
    control_delay_periods: int | None = Field(default=None, ge=0, le=20)  # as believed; None: as it is


class ControllerTime(FileModel):
    """How long a control step takes: log-normal. Without it, no time passes while a controller computes."""

    median_ms: float = Field(gt=0, le=10_000)
    p99_ms: float = Field(gt=0, le=10_000)
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> ControllerTime:
        if self.p99_ms < self.median_ms:
            raise ValueError(f"p99_ms is {self.p99_ms}; expected at least median_ms = {self.median_ms}")
        return self


class ReferenceLink(FileModel):
    """The way of the reference from guidance to each vehicle."""

    loss: float = Field(default=0.0, ge=0, le=1)  # share of references lost, for each vehicle on its own
    delay_s: float = Field(default=0.0, ge=0)


class RelativeSensor(FileModel):
    """Bearing and range to the vehicles in the cone around the bow, by the optical link."""

    enabled: bool = False
    rate_hz: float = Field(default=5.0, gt=0)
    bearing_std_deg: float = Field(default=1.0, ge=0)  # of each of two angles
    range_std_m: float = Field(default=0.05, ge=0)
    range_share: float = Field(default=0.02, ge=0)  # plus this share of the range, one sigma
    dropout: float = Field(default=0.1, ge=0, le=1)  # share of sightings lost
    range_m: float = Field(default=15.0, gt=0)
    cone_deg: float = Field(default=60.0, gt=0, le=180)  # half-angle

    @model_validator(mode="after")
    def _acts_if_enabled(self) -> RelativeSensor:
        # Other than by default: a condition that is written out and read again has every key.
        given = {name for name, field in RelativeSensor.model_fields.items() if getattr(self, name) != field.default}
        if given and not self.enabled:
            raise ValueError(f"{', '.join(sorted(given))} given and enabled is false; expected enabled: true with it")
        return self


class FiducialSensor(FileModel):
    """Cameras that find the marker of another vehicle's port; where they look is in the vehicle file.

    One sigma at 1 m on the axis: along the ray errors grow with the square of the range, across it and in attitude
    with the range, and all of them towards the cone's edge.
    """

    enabled: bool = True
    rate_hz: float = Field(default=10.0, gt=0)
    latency_s: float = Field(default=0.1, ge=0)
    dropout: float = Field(default=0.05, ge=0, le=1)  # share of exposures without a detection
    turbidity_m: float = Field(default=8.0, gt=0)  # further than that nothing is seen
    along_std_m: float = Field(default=0.01, ge=0)
    across_std_m: float = Field(default=0.01, ge=0)
    attitude_std_deg: float = Field(default=0.5, ge=0)
    edge_growth: float = Field(default=1.0, ge=0)  # how much larger errors are at the cone's edge


class Sensors(FileModel):
    """Odometry errors. White Gaussian per axis unless stated otherwise."""

    position_std_m: float = Field(default=0.02, ge=0)
    position_uniform_m: float = Field(default=0.0, ge=0)  # plus U(-a, a) on each axis, every sample
    position_bias_m: Vector = (0.0, 0.0, 0.0)  # NED, the same for all vehicles
    position_bias_std_m: float = Field(default=0.0, ge=0)  # plus a bias per axis, drawn once a run for each vehicle
    attitude_std_deg: float = Field(default=0.5, ge=0)
    heading_bias_std_deg: float = Field(default=0.0, ge=0)  # drawn once a run for each vehicle
    velocity_std_mps: float = Field(default=0.01, ge=0)
    rate_std_dps: float = Field(default=0.5, ge=0)
    rate_hz: float | None = Field(default=None, gt=0)  # None: one sample each control period
    latency_s: float = Field(default=0.0, ge=0)
    position_drift_mps: float = Field(default=0.0, ge=0)  # horizontally, in a direction drawn for each vehicle
    position_walk_m: float = Field(default=0.0, ge=0)  # random walk: one sigma an axis after a second
    outliers: Outliers = Outliers()
    jumps: Jumps = Jumps()
    freezes: Spells = Spells()  # the sensor repeats its last measurement under new stamps
    gaps: Spells = Spells()  # no odometry at all
    relative: RelativeSensor = RelativeSensor()  # what is seen of the others
    fiducial: FiducialSensor = FiducialSensor()  # of vehicles that are about to dock
    stamp_offset_s: float = Field(default=0.0, ge=-1, le=1)  # of the stamps; positive: ahead of the measurement
    stamp_jitter_s: float = Field(default=0.0, ge=0, le=1)  # plus U(-a, a) on every stamp


class Environment(FileModel):
    """The water, and the air above it. Currents add up."""

    currents: tuple[Current, ...] = ()
    wind_N: tuple[float, float] = (0.0, 0.0)  # on every hull that floats, amid its waterline; north and east


class Start(FileModel):
    """Start poses, by the ready rule of Fosso 2023. radius_m = 0: exactly on the formation's places, facing right."""

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

    @model_validator(mode="after")
    def _drawn_if_at_all(self) -> Start:
        for key in ("angle_deg", "min_distance_m"):
            value = getattr(self, key)
            if self.radius_m == 0 and value not in (0.0, Start.model_fields[key].default):
                raise ValueError(f"{key} is {value} and does nothing without a draw; expected radius_m > 0 with it")
        return self


class FormationChange(FileModel):
    """What differs from the fleet file's formation."""

    kind: Literal["point", "ring", "line"] | None = None
    radius_m: float | None = Field(default=None, gt=0)
    spacing_m: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _radius_of_a_ring(self) -> FormationChange:
        if self.radius_m is not None and self.kind not in (None, "ring"):
            raise ValueError(f"kind is '{self.kind}'; expected radius_m with kind 'ring' only")
        return self


class Clocks(FileModel):
    """How far each vehicle's clock is ahead of guidance's; vehicles without a value have the right time."""

    offsets_s: tuple[float, ...] = ()  # at the start of the run, in the order of the fleet
    drifts_ppm: tuple[float, ...] = ()  # how much faster they run


class Condition(FileModel):
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
    formation: FormationChange = FormationChange()  # nothing: the fleet file's
    faults: tuple[Fault, ...] = ()
    clocks: Clocks = Clocks()
    reference: ReferenceLink = ReferenceLink()
    controller_time: ControllerTime | None = None  # None: control steps take no time
    control_delay_periods: int = Field(default=1, ge=0, le=20)  # from odometry to the thrust that answers it
    bounds: dict[str, NonNegativeFloat] = Field(default_factory=dict)  # by metric, instead of the usual ones

    @model_validator(mode="after")
    def _cone_and_range_of_sight(self) -> Condition:
        """A rule for files, not for the link: at run time an operator may switch line of sight off and on again."""
        for key in ("range_m", "cone_deg"):
            value = getattr(self.link, key)
            if not self.link.line_of_sight and value != LinkSettings.model_fields[key].default:
                raise ValueError(f"link.{key} is {value} and does nothing; expected link.line_of_sight: true with it")
        return self

    def content_hash(self) -> str:
        """Of what acts on a run: equal conditions under two names have equal hashes."""
        data = self.model_dump(mode="json", exclude={"name", "description", "source"})
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]


def load_condition(name_or_path: str | Path) -> Condition:
    """By shipped name or file; its name is the file's unless the file gives one."""
    path = find_config("conditions", name_or_path)
    condition = load_yaml(path, Condition)
    return condition if condition.name else condition.model_copy(update={"name": path.stem})
