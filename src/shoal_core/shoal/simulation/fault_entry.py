"""One entry of a condition's `faults:`: what fails, of which vehicle, from when to when."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from shoal.config.file_model import FileModel, Vector

FaultKind = Literal[
    "thrusters_dead",  # all of them: they give nothing
    "module_dead",  # the thrusters of one module of an assembly give nothing
    "thruster_dead",  # one gives nothing
    "thruster_weak",  # one gives only a share of what is asked
    "thruster_reversed",  # one pushes the other way
    "thruster_stuck",  # one gives force_N, whatever is asked, STOP included
    "frozen",  # the vehicle is held fast where it is
    "radio_silent",  # sends no plans
    "plans_frozen",  # sends the plan of when that began again and again, with fresh stamps
    "plans_offset",  # sends plans that are off by offset_m
    "absurd_stamp",  # plans are stamped 1000 s in the future, with a sequence number to match
    "reboot",  # its controller is down, and starts with empty memory at to_s,
    "joint_breaks",  # whatever joins it to others opens, and nobody is informed
    "commands_late",  # commands act later by late_s than the condition has it
    "sensor_bias",  # its navigation is off by offset_m, heading_deg, or both
    "sensor_drift",  # its position drifts away with drift_mps
    "sensor_jumps",  # its position is off by offset_m for every_s, right for every_s, and so on
    "sensor_frozen",  # repeats the measurement of when that began, with fresh stamps
    "sensor_silent",  # no odometry at all
    "sensor_slow",  # odometry comes rate_hz times a second only
    "camera_blind",  # the cameras of its ports find no marker
    "link_loss",  # a share of the plans that it sends, and of those sent to it, is lost
    "link_delay",  # they arrive delay_s later
]
WITH_OFFSET = ("plans_offset", "sensor_bias", "sensor_jumps")


class Fault(FileModel):
    """What fails for a while."""

    vehicle: int = Field(ge=0)  # index in the fleet
    kind: FaultKind
    from_s: float = Field(default=0.0, ge=0)
    to_s: float | None = None  # None: until the end
    offset_m: Vector = (0.0, 0.0, 0.0)  # NED, of plans_offset, sensor_bias and sensor_jumps
    heading_deg: float = Field(default=0.0, ge=-180, le=180)  # of sensor_bias
    drift_mps: Vector | None = None  # NED, of sensor_drift
    every_s: float | None = Field(default=None, gt=0)  # of sensor_jumps
    rate_hz: float | None = Field(default=None, gt=0)  # of sensor_slow
    delay_s: float | None = Field(default=None, gt=0)  # of link_delay
    thruster: str | None = None  # by name; of the kinds thruster_…
    module: str | None = None  # by name; of module_dead
    share: float | None = Field(default=None, ge=0, le=1)  # of thruster_weak (what is left), link_loss (what is lost)
    late_s: float | None = Field(default=None, gt=0, le=2)  # of commands_late
    force_N: float | None = None  # of thruster_stuck, along the thruster's direction

    def lasts(self, t_s: float) -> bool:
        """Whether it is on at that time."""
        return self.from_s <= t_s and (self.to_s is None or t_s < self.to_s)

    @model_validator(mode="after")
    def _offset_of_the_kind(self) -> Fault:
        if self.heading_deg and self.kind != "sensor_bias":
            raise ValueError(f"heading_deg is {self.heading_deg} with kind '{self.kind}'; expected it with sensor_bias")
        if self.kind == "sensor_bias" and self.heading_deg:
            return self
        if (self.kind in WITH_OFFSET) != any(self.offset_m):
            kinds = ", ".join(WITH_OFFSET)
            raise ValueError(
                f"offset_m is {list(self.offset_m)} with kind '{self.kind}'; expected one with kind {kinds} only"
            )
        return self

    @model_validator(mode="after")
    def _details_of_the_kind(self) -> Fault:
        belongs = {
            "thruster": self.kind.startswith("thruster_"),
            "module": self.kind == "module_dead",
            "share": self.kind in ("thruster_weak", "link_loss"),
            "force_N": self.kind == "thruster_stuck",
            "late_s": self.kind == "commands_late",
            "drift_mps": self.kind == "sensor_drift",
            "every_s": self.kind == "sensor_jumps",
            "rate_hz": self.kind == "sensor_slow",
            "delay_s": self.kind == "link_delay",
        }
        for key, wanted in belongs.items():
            given = getattr(self, key)
            if wanted != (given is not None):
                expected = f"expected a {key}" if wanted else f"expected no {key}"
                raise ValueError(f"{key} is {given} with kind '{self.kind}'; {expected} with that kind")
        nothing = {"thruster_weak": self.share == 1, "link_loss": self.share == 0}.get(self.kind, False)
        if nothing or (self.drift_mps is not None and not any(self.drift_mps)):
            raise ValueError(f"kind '{self.kind}' changes nothing; expected a share or drift that does")
        return self

    @model_validator(mode="after")
    def _runs_forward(self) -> Fault:
        if self.to_s is not None and self.to_s <= self.from_s:
            raise ValueError(f"to_s is {self.to_s}; expected more than from_s = {self.from_s}")
        return self
