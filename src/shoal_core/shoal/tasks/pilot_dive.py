"""One pilot, one vehicle with the autopilot: a dive from a CSV file, or levels changed at random (Ng 2024, ch. 5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from pydantic import Field

from shoal.autopilot.dive import load_dive, pilot_message
from shoal.autopilot.random_pilot import RandomPilot
from shoal.errors import ShoalError
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.pilot import PilotInput, pilot_from_json
from shoal.messages.state import State
from shoal.simulation.simulator import Directing
from shoal.tasks.base import Task, TaskContext, TaskSettings
from shoal.tasks.directing import ScriptedDirector, formation_of

PilotCall = Callable[[float], PilotInput]
ANYWHERE_M = 1000.0  # a pilot goes where he likes
UPSIDE_DOWN_DEG = 180.0
DIVE_DEG = 60.0  # the shipped dive asks for 37, and waves come on top
LED_DEG = 40.0  # random setpoints and sticks ask for up to 27


class DiveSettings(TaskSettings):
    """Of the pilot."""

    course: str = Field(default="pilot", description="CSV file, or the name of one in config/dives")
    switch_chance: float = Field(
        default=0.0, ge=0, le=1, description="of a random change of level, each control period"
    )
    direct_tilt: bool = Field(default=True, description="random changes may leave roll and pitch to the sticks alone")
    duration_s: float = Field(default=60.0, gt=0, description="of random changes; a dive has its own")


class PilotDive(Task):
    """The controller has to be the autopilot. From the fleet file's start pose; without a reference from the fleet."""

    Settings = DiveSettings
    metrics = tuple(f"shoal.evaluation.dive:{name}" for name in ("ROLL", "PITCH", "YAW", "JUMP"))

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        if len(self.fleet.names) != 1:
            count = len(self.fleet.names)
            raise ShoalError(f"task pilot_dive: fleet '{self.fleet.name}' has {count} vehicles; expected one")
        self._dive = load_dive(self._settings.course)

    @property
    def bounds(self) -> Mapping[str, float]:  # type: ignore[override]
        """Nobody holds back a pilot who takes roll and pitch himself; held or led, the tilt is the laws' business."""
        tilt_deg = DIVE_DEG
        if self._settings.switch_chance:
            tilt_deg = UPSIDE_DOWN_DEG if self._settings.direct_tilt else LED_DEG
        return {
            "path_error_max_m": ANYWHERE_M, "setpoint_error_max_m": ANYWHERE_M, "tilt_max_deg": tilt_deg,
            "tilt_settled_max_deg": tilt_deg,
        }  # fmt: skip

    @property
    def _settings(self) -> DiveSettings:
        settings: DiveSettings = self.context.settings
        return settings

    @property
    def duration_s(self) -> float:
        return self._settings.duration_s if self._settings.switch_chance else self._dive.duration_s

    def start(self) -> dict[str, State]:
        return {member.name: member.start_state() for member in self.fleet.vehicles}

    def director(self) -> Directing:
        formation = formation_of(self.fleet, self.condition.formation)
        holding = ScriptedDirector(self.fleet, formation, None, None, self._settings.script)
        if not self._settings.switch_chance:
            return _Piloted(holding, self.fleet.names[0], self._message)
        place_m = self.fleet.vehicles[0].start_state().array[:3]
        return _Piloted(
            holding,
            self.fleet.names[0],
            RandomPilot(self.context.seed, place_m, self._settings.switch_chance, tilts=self._settings.direct_tilt),
        )

    def _message(self, t_s: float) -> PilotInput:
        return pilot_from_json(json.dumps(pilot_message(self._dive, t_s)), t_s)


class _Piloted:
    """Guidance holds the place for whoever asks for preset `fleet`; the pilot does the rest."""

    def __init__(self, guidance: Directing, vehicle: str, pilot: PilotCall) -> None:
        self._guidance, self._vehicle, self._pilot = guidance, vehicle, pilot

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        return replace(self._guidance.orders(t_s, odometry), pilot={self._vehicle: self._pilot(t_s)})
