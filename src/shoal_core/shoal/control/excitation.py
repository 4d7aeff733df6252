"""A minute of motion from which a vehicle's numbers can be found: random levels on four axes, roll and pitch held.

Levels of thrust on surge, sway, heave and yaw are drawn anew every half to three seconds, so that acceleration and
steady speed are both there. A soft box pushes back; past a hard one, out of its depth or too near to another vehicle
it is stopped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.control.base import Controller, ControllerContext, ControlOutput, Estimate, NeighbourForecast
from shoal.frames import matrix
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.vehicles.allocation import Allocator
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import VehicleModel
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
EXCITED = (0, 1, 2, 5)  # surge, sway, heave, yaw


class ExcitationSettings(FileModel):
    """How much motion, and within which room."""

    level: float = Field(
        default=0.35, gt=0, le=0.8, description="largest level, as a share of the pure thrust of an axis"
    )
    shortest_s: float = Field(default=0.5, gt=0, description="a level is held at least so long")
    longest_s: float = Field(default=3.0, gt=0, description="… and at most")
    box_m: float = Field(default=1.0, gt=0, description="half side of the room; beyond it the vehicle is pushed back")
    hard_box_m: float = Field(default=4.0, gt=0, description="… and beyond this one it is stopped")
    least_depth_m: float = Field(default=0.3, description="nearer to the surface the vehicle is stopped")
    most_depth_m: float = Field(default=1e3, gt=0, description="… and deeper than this, above the bottom")
    least_distance_m: float = Field(default=1.2, gt=0, description="… and with another vehicle nearer than this")
    attitude_radps: float = Field(default=4.0, gt=0, description="bandwidth that holds roll and pitch")
    seed: int = Field(default=0, ge=0, description="of the drawn motion")


class ExcitationController(Controller):
    """Swims by chance around the setpoint of its first step."""

    Settings = ExcitationSettings
    lag_compensation = False  # what is recorded should be what was sent

    def __init__(self, context: ControllerContext) -> None:
        self.settings: ExcitationSettings = context.settings
        self._rng = np.random.default_rng([self.settings.seed, 71])
        self.set_vehicle(context.vehicle)
        self._middle_m: Array | None = None
        self._levels, self._until_s = np.zeros(6), np.full(6, -np.inf)
        self._stopped: Issue | None = None

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another vehicle: other levels."""
        model = VehicleModel(vehicle)
        self._allocate = Allocator(vehicle)
        self._largest = np.array([min(model.max_force(i, 1), model.max_force(i, -1)) for i in range(6)])
        self._largest *= self.settings.level
        self._inertia = np.diag(mass_matrix(vehicle))
        self._net = np.array([0.0, 0.0, vehicle.buoyancy_N - vehicle.weight_N])

    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        state = estimate.state
        if self._middle_m is None:
            self._middle_m = state[POSITION].copy()
        away_m = state[POSITION] - self._middle_m
        self._stopped = self._stopped or self._reason(estimate, away_m, neighbours)
        if self._stopped is not None:  # for good: whoever set it going has to look first
            return ControlOutput(
                np.zeros_like(estimate.previous_N), np.array([estimate.start_s]), state[None], issues=(self._stopped,)
            )
        wrench = self._hold(state)
        self._draw(t_s)
        wrench += self._levels
        wrench[:3] += matrix(state[ATTITUDE]).T @ (
            self._back(away_m, matrix(state[ATTITUDE]) @ state[VELOCITY]) + self._net
        )
        return ControlOutput.of_thrust(self._allocate(wrench), estimate)

    def _reason(self, estimate: Estimate, away_m: Array, neighbours: NeighbourForecast) -> Issue | None:
        """Why to stop, if there is a reason."""
        s, here = self.settings, estimate.state[POSITION]
        farthest_m, depth_m = float(np.abs(away_m).max()), float(here[2])
        if farthest_m > s.hard_box_m:
            return Issue(Code.LEFT_ITS_ROOM, Severity.ERROR, value=farthest_m)
        if not s.least_depth_m <= depth_m <= s.most_depth_m:
            return Issue(Code.LEFT_ITS_DEPTH, Severity.ERROR, value=depth_m)
        others_m = neighbours.at(np.array([estimate.start_s])).positions_m.reshape(-1, 3)
        nearest_m = min((float(np.linalg.norm(other - here)) for other in others_m), default=np.inf)
        if nearest_m < s.least_distance_m:
            return Issue(Code.TOO_CLOSE_TO_EXCITE, Severity.ERROR, value=nearest_m)
        return None

    def _draw(self, t_s: float) -> None:
        for axis in EXCITED:
            level, hold = self._rng.uniform(-1, 1), self._rng.uniform(self.settings.shortest_s, self.settings.longest_s)
            if t_s >= self._until_s[axis]:
                self._levels[axis], self._until_s[axis] = level * self._largest[axis], t_s + hold

    def _hold(self, state: Array) -> Array:
        """Roll and pitch, by a proportional-derivative law of the given bandwidth."""
        down = matrix(state[ATTITUDE]).T[:, 2]  # the world's down in the body
        tilt = np.array([down[1], -down[0], 0.0])
        w = self.settings.attitude_radps
        moment = -self._inertia[3:] * (w**2 * tilt + 2 * w * state[RATE])
        return np.concatenate([np.zeros(3), moment * [1, 1, 0]])

    def _back(self, away_m: Array, velocity_mps: Array) -> Array:
        """Force (3,) NED towards the room, once outside of it."""
        beyond = np.sign(away_m) * np.maximum(np.abs(away_m) - self.settings.box_m, 0.0)
        outside = beyond != 0
        w = 0.8
        return np.asarray(-self._inertia[:3].mean() * (w**2 * beyond + 2 * w * velocity_mps * outside) * 2)
