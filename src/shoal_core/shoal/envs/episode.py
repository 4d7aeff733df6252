"""One episode of a fleet: the task's start and setpoints, the World's motion, what each vehicle measures, its reward.

No controller runs here. Observations are made of odometry as the condition's sensors give it, never of the truth;
rewards and terminations are judged on the truth, as everywhere in Shoal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.fleet.generate import resolve_fleet
from shoal.frames import matrix, tilt_rad, yaw_of
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, TWIST
from shoal.simulation.conditions import load_condition
from shoal.simulation.world import World
from shoal.tasks.base import TaskContext
from shoal.tasks.run import BEYOND_S, make_task
from shoal.tasks.start import afloat

Array = NDArray[np.float64]
Setpoint = tuple[Array, Array, float | None]
GUIDANCE_S = 0.2  # between two words of guidance; each looks four seconds ahead
OWN = 17  # entries of an observation before thrust and neighbours
REACH = 100.0  # of an observation's entries: bounded spaces have meaningful samples, and a diverged run stays inside


@dataclass(frozen=True)
class EnvSettings:
    """What an episode is, and what its reward is made of."""

    path: str = "circle"
    condition: str = "default"
    task: str = "follow_path"
    control_period_s: float = 0.05
    duration_s: float | None = 60.0  # None: the task's
    away_m: float = 10.0  # from its setpoint: the vehicle is lost and the episode over
    tilt_weight: float = 0.5  # per rad
    sight_weight: float = 1.0  # per rad beyond the soft angle, of the worst neighbour it must see
    distance_weight: float = 5.0  # per metre below the soft distance, of the nearest neighbour
    thrust_weight: float = 0.05  # of the mean square of the actions
    failure: float = -20.0  # too close, or lost


class Episode:
    """`reset(seed)`, then `step(actions)` until `over`. The same seed gives the same episode for the same actions."""

    def __init__(self, fleet: str, settings: EnvSettings) -> None:
        self._fleet, self.settings = resolve_fleet(fleet), settings
        self._condition = load_condition(settings.condition)
        if settings.task == "join":
            raise ShoalError("task = 'join': vehicles change; expected a task whose vehicles stay as they are")
        self.names: tuple[str, ...] = tuple(self._fleet.names)
        vehicles = {member.name: member.vehicle() for member in self._fleet.vehicles}
        self._low_N = {name: vehicle.input_min_N for name, vehicle in vehicles.items()}
        self._high_N = {name: vehicle.input_max_N for name, vehicle in vehicles.items()}
        self._limits = self._fleet.limits
        self._make(0)  # also refuses what cannot be run, before anybody learns

    def inputs(self, name: str) -> int:
        """How many thrusters (inputs) a vehicle has."""
        return len(self._high_N[name])

    def size(self, name: str) -> int:
        """Entries of its observation."""
        return OWN + self.inputs(name) + 6 * (len(self.names) - 1)

    def reset(self, seed: int) -> dict[str, Array]:
        """A new episode; returns the observations."""
        self._make(seed)
        self._look()
        return self.observations()

    def _make(self, seed: int) -> None:
        s = self.settings
        task = make_task(s.task, TaskContext(self._fleet, self._condition, {}, s.path, seed))
        self.duration_s = s.duration_s or task.duration_s
        starts = afloat(task.start(), {member.name: member.vehicle() for member in task.fleet.vehicles})
        self.world = World(
            task.fleet, starts, self._condition, seed, s.control_period_s, self.duration_s + BEYOND_S,
            current=task.current(),
        )  # fmt: skip
        self._director = task.director()
        self._placement: Placement | None = None
        self._reference: Preview | None = None
        self._guided_s, self._setpoints = 0.0, dict[str, Setpoint]()
        self._odometry: dict[str, Odometry | None] = dict.fromkeys(self.names)
        self._actions = {name: np.zeros(self.inputs(name)) for name in self.names}
        self.failure = ""

    @property
    def truncated(self) -> bool:
        """Whether its time is up."""
        return self.world.t_s >= self.duration_s - 1e-9

    def step(self, actions: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, float]]:
        """One control period with thrust by `actions` (n,) each, −1 to 1 of full reverse to full forward thrust."""
        t_s = self.world.t_s
        for name, action in actions.items():
            u = np.clip(np.nan_to_num(np.asarray(action, dtype=float)), -1.0, 1.0)
            self._actions[name] = u
            thrust = np.where(u < 0.0, -u * self._low_N[name], u * self._high_N[name])
            measured = self._odometry[name]
            self.world.command(name, thrust, t_s if measured is None else measured.stamp_s, t_s)
        self.world.step(self.settings.control_period_s)
        self._look()
        return self.observations(), self._rewards()

    def _look(self) -> None:
        """Measure, and hear from guidance, as at every control step of a run."""
        t_s, self._odometry = self.world.t_s, self.world.measure()
        if self._placement is None or t_s - self._guided_s >= GUIDANCE_S - 1e-9:
            orders = self._director.orders(t_s, self._odometry)
            self._placement = orders.placement or self._placement
            self._reference = orders.reference or self._reference
            self._guided_s = t_s
        if self._placement is None or self._reference is None:
            states = zip(self.names, self.world.states, strict=True)
            self._setpoints = {name: (state[POSITION].copy(), np.zeros(3), None) for name, state in states}
            return
        point = self._reference.at(np.array([t_s]))
        motion = self._placement.motion(point)
        for name in self.names:
            now = self._placement.setpoint(name, point, motion)
            heading = None if now.headings_rad is None else float(now.headings_rad[0])
            self._setpoints[name] = now.positions_m[0], now.velocities_mps[0], heading

    def setpoint(self, name: str) -> Setpoint:
        """Position (3,), velocity (3,) and heading of one vehicle's setpoint, NED; until there is one, where it is."""
        return self._setpoints[name]

    # -- observations and rewards -------------------------------------------------------------------------------

    def observations(self) -> dict[str, Array]:
        """Of each vehicle (size,), in its own body frame (FRD)."""
        return {name: self._observation(name) for name in self.names}

    def _observation(self, name: str) -> Array:
        own = self._odometry[name]
        found = np.zeros(self.size(name))
        if own is None:
            return found
        to_body = matrix(own.attitude).T
        position, velocity, heading = self.setpoint(name)
        wanted = self._wanted_heading(name, own.state) if heading is None else heading
        turn = wanted - yaw_of(own.attitude)
        found[0:3] = to_body @ (position - own.position_m)
        found[3:6] = to_body @ velocity
        found[6:9] = to_body[:, 2]  # which way is down
        found[9:11] = np.sin(turn), np.cos(turn)
        found[11:17] = own.state[TWIST]
        end = OWN + self.inputs(name)
        found[OWN:end] = self._actions[name]
        for k, other in enumerate(n for n in self.names if n != name):
            seen = self._odometry[other]
            if seen is not None:
                away = to_body @ (seen.position_m - own.position_m)
                motion = to_body @ (matrix(seen.attitude) @ seen.state[TWIST][:3])
                found[end + 6 * k : end + 6 * k + 6] = *away, *motion
        return np.clip(found, -REACH, REACH)

    def _wanted_heading(self, name: str, state: Array) -> float:
        """Towards the middle of those it must see; else as it is."""
        seen = self._placement.must_see(name) if self._placement else frozenset()
        places = [o.position_m for n, o in self._odometry.items() if n in seen and o is not None]
        if not places:
            return yaw_of(state[ATTITUDE])
        away = np.mean(places, axis=0) - state[POSITION]
        return float(np.arctan2(away[1], away[0]))

    def _rewards(self) -> dict[str, float]:
        s, limits, rewards = self.settings, self._limits, {}
        states = dict(zip(self.names, self.world.states, strict=True))
        for name, state in states.items():
            position, _, _ = self.setpoint(name)
            error_m = float(np.linalg.norm(state[POSITION] - position))
            gap_m = min((float(np.linalg.norm(o[POSITION] - state[POSITION])) for n, o in states.items() if n != name),
                        default=np.inf)  # fmt: skip
            seen = self._placement.must_see(name) if self._placement else frozenset()
            angle_deg = max((sight_angle_deg(state, states[n][POSITION]) for n in seen), default=0.0)
            reward = np.exp(-error_m) - 0.1 * error_m - s.tilt_weight * tilt_rad(state[ATTITUDE])
            reward -= s.sight_weight * np.radians(max(0.0, angle_deg - limits.sight_soft_deg))
            reward -= s.distance_weight * max(0.0, limits.distance_soft_m - gap_m) if np.isfinite(gap_m) else 0.0
            reward -= s.thrust_weight * float(np.mean(self._actions[name] ** 2))
            if not np.isfinite(state).all() or error_m > s.away_m:
                self.failure = f"{name} is {error_m:.1f} m from its setpoint"
            elif gap_m < limits.distance_hard_m:
                self.failure = f"{name} is {gap_m:.2f} m from another vehicle"
            rewards[name] = float(reward)
        if self.failure:
            rewards = {name: reward + s.failure for name, reward in rewards.items()}
        return rewards
