"""What a controller is: a class with `step`, found by name, the same in the simulator and in the ROS node."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.config.file_model import FileModel
from shoal.errors import ShoalError
from shoal.messages.directive import Directive
from shoal.messages.health import Issue
from shoal.messages.limits import Limits
from shoal.messages.odometry import Odometry
from shoal.messages.pilot import PilotInput
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """What is known of the own vehicle."""

    t_s: float  # now
    start_s: float  # when the answer takes effect; `state` is predicted for then
    state: Array  # (13,) see messages.state
    wrench: Array  # (6,) body: force and moment that the model does not explain
    current_mps: Array  # (3,) NED, of the water
    position_reliable: bool  # False: nobody should swim by this position
    previous_N: Array  # (n,) thrust wanted last time
    odometry: Odometry  # the newest measurement, as it came
    turns_later_s: float = 0.0  # attitude and rates of `state` are those of so much after `start_s`: moments act later


@dataclass(frozen=True)
class Neighbours:
    """Those known about at some instants; one array for all, so that ten cost hardly more than one."""

    names: tuple[str, ...]
    ages_s: Array  # (V,) of what was last received
    positions_m: Array  # (V,M,3) NED
    margins_m: Array  # (V,) extra distance to keep for what is old or uncertain

    def first(self, count: int) -> Neighbours:
        """The first of them."""
        return Neighbours(self.names[:count], self.ages_s[:count], self.positions_m[:count], self.margins_m[:count])


class NeighbourForecast(Protocol):
    """Where the neighbours are expected."""

    def at(self, times_s: Array) -> Neighbours:
        """At absolute times (M,)."""
        ...


@dataclass(frozen=True)
class ControlOutput:
    """What a controller wants."""

    thrust_N: Array  # (n,) in effect at `Estimate.start_s`
    times_s: Array  # (K,) absolute, increasing: of the predicted motion
    states: Array  # (K,13) the predicted motion; the present state alone if there is no prediction
    planned_N: Array | None = None  # (K-1,n) thrust along the prediction, for the steps after a failure
    issues: tuple[Issue, ...] = ()
    usable: bool = True  # False: the fallbacks take over
    iterations: int = 0
    slack_soft: float = 0.0  # planned violation of a soft limit
    slack_hard: float = 0.0

    def wrong(self, inputs: int) -> str:
        """Why it cannot be sent, or nothing: what is not a number must never reach a thruster."""
        if self.thrust_N.shape != (inputs,):
            return f"thrust_N has shape {self.thrust_N.shape}, expected ({inputs},)"
        return "" if math.isfinite(float(self.thrust_N.sum())) else "thrust_N is not finite"

    def planned_at(self, late_s: float) -> Array:
        """(n,) the planned thrust so long after the plan's start; beyond its end, the last."""
        assert self.planned_N is not None
        offsets_s = self.times_s - self.times_s[0]
        k = int(np.searchsorted(offsets_s, late_s + 1e-9, side="right") - 1)
        return self.planned_N[min(k, len(self.planned_N) - 1)]

    @staticmethod
    def of_thrust(thrust_N: Array, estimate: Estimate) -> ControlOutput:
        """Of a controller that predicts nothing: the others receive its present position and velocity."""
        return ControlOutput(thrust_N, np.array([estimate.start_s]), estimate.state[None, :])


@dataclass(frozen=True)
class ControllerContext:
    """What a controller is made with."""

    name: str  # of the own vehicle
    vehicle: Vehicle  # as believed
    settings: Any  # an instance of the controller's `Settings`
    limits: Limits
    period_s: float
    others: tuple[str, ...] = ()  # names of the rest of the fleet


class NoSettings(FileModel):
    """Of a controller without any."""


class Controller(ABC):
    """Derive from it, name it `package.module:Name`, and the simulator, campaigns and the ROS node run it."""

    Settings: ClassVar[type[FileModel]] = NoSettings

    # Settings that need a restart; None: all of them. The others may be tuned while it runs, with `apply`.
    fixed_settings: ClassVar[tuple[str, ...] | None] = None

    # Off: thrust goes out as it is returned. On: the runtime predicts the state over delay and lag, and overdrives
    # changes of thrust against the lag.
    lag_compensation: bool = True

    # Off: the drag of the model stays as described, whatever the motion says; the mass may still change.
    learns_drag: bool = True

    @abstractmethod
    def __init__(self, context: ControllerContext) -> None: ...

    @abstractmethod
    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        """One control period."""

    @property
    def lag_as_delay(self) -> bool:
        """Over the lag the state is predicted with the force that acts when the next command arrives, not with the last
        command going on.

        That is what makes a lag act like a delay of its time constant: until then the force stays, from then on it is
        what was asked. Otherwise a fast law answers its own last command once more, and at 4 rad/s thrust alternates
        from period to period.
        """
        return False

    @property
    def leans(self) -> bool:
        """Whether it gives up attitude for a place that it cannot hold level: then the runtime takes that place from it
        (`fleet.let_go`). Otherwise the setpoint stays what it is, whatever the water does."""
        return False

    @property
    def moment_lead(self) -> float | None:
        """Overdrive of moments; None: the runtime's."""
        return None

    def set_vehicle(self, vehicle: Vehicle) -> None:  # noqa: B027 - a controller without a model need not care
        """Another vehicle from the next step on."""

    def on_pilot(self, message: PilotInput) -> None:  # noqa: B027 - most have none
        """What a pilot sends."""

    def apply(self, settings: Any) -> None:
        """Other settings from the next step on; those that cannot change while running raise a ShoalError."""
        raise ShoalError(f"{type(self).__name__}: settings cannot change while running; expected a restart")

    def reset(self) -> None:  # noqa: B027 - nor one without a memory
        """What was remembered of earlier steps is void: the vehicle was stopped, or steered by somebody else."""
