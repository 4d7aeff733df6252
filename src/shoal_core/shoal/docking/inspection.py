"""Inspection and rendezvous (Nielsen 2018, section 8.4): one keeps an object in view while the other docks with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.docking.cooperative import Rendezvous, Tuning, Watch
from shoal.docking.graph import Graph
from shoal.docking.planar import Camera, PlanarVehicle, Prediction

Array = NDArray[np.float64]
OBJECT_M, WITHIN_M = (6.1, 3.0), 3.0
START = {"v1": np.array([4.0, 3.0, -0.2, 0, 0, 0]), "v2": np.array([1.0, -2.0, -0.58, 0, 0, 0])}
# Table 8.1 leaves the cameras' directions open; of the multiples of 90° only these see what they must at the start.
AHEAD, TO_PORT, TO_STARBOARD = Camera(0.0), Camera(-math.pi / 2), Camera(math.pi / 2)
QUICK = Tuning(force=0.1, velocity=1.0, inner_iterations=8)


def inspection() -> Rendezvous:
    """Table 8.1."""
    return Rendezvous(
        Graph(("v1", "v2"), (("v1", "v2"),)),
        {"v1": PlanarVehicle(), "v2": PlanarVehicle()},
        {("v1", "v2"): TO_PORT, ("v2", "v1"): TO_STARBOARD},
        {"v1": Watch(OBJECT_M, AHEAD, WITHIN_M)},
    )


class Docking(Protocol):
    """Either method."""

    def step(self, states: Mapping[str, Array]) -> dict[str, Array]:
        """Forces (3,) of each vehicle now, of its state (6,)."""
        ...


@dataclass(frozen=True)
class Approach:
    """What happened, sample by sample."""

    times_s: Array  # (T,)
    states: Mapping[str, Array]  # (T,6) each
    forces: Mapping[str, Array]  # (T,3) each

    @property
    def separation_m(self) -> Array:
        """(T,) between both origins."""
        return np.asarray(np.linalg.norm(self.states["v1"][:, :2] - self.states["v2"][:, :2], axis=1))

    @property
    def heading_apart_deg(self) -> Array:
        """(T,)."""
        return np.degrees(np.abs(self.states["v1"][:, 2] - self.states["v2"][:, 2]))

    @property
    def object_distance_m(self) -> Array:
        """(T,) of v1."""
        return np.asarray(np.linalg.norm(self.states["v1"][:, :2] - np.array(OBJECT_M), axis=1))

    def bearings_deg(self) -> dict[str, Array]:
        """(T,) off each camera's axis."""
        one, two = self.states["v1"], self.states["v2"]
        seen = {
            "v1 → v2": TO_PORT.bearing_rad(one, two[:, :2]),
            "v2 → v1": TO_STARBOARD.bearing_rad(two, one[:, :2]),
            "v1 → object": AHEAD.bearing_rad(one, np.array(OBJECT_M)),
        }
        return {name: np.degrees(angle) for name, angle in seen.items()}

    def first_s(self, below_m: float) -> float:
        """When they are that near; infinite: never."""
        near = np.flatnonzero(self.separation_m < below_m)
        return float(self.times_s[near[0]]) if len(near) else math.inf

    def excess_deg(self, until_m: float = 0.1) -> float:
        """The worst bearing beyond 25°, while the vehicles are so far apart that a bearing means something."""
        far = self.separation_m > until_m
        limit = math.degrees(AHEAD.half_angle_rad)
        bearings = self.bearings_deg()
        mutual = max(float(np.abs(bearings[n][far]).max()) for n in ("v1 → v2", "v2 → v1"))
        return max(mutual, float(np.abs(bearings["v1 → object"]).max())) - limit


def approach(docking: Docking, duration_s: float, period_s: float = 0.05) -> Approach:
    """The model's own prediction as the plant: perfect knowledge, as published."""
    plant = Prediction(PlanarVehicle(), 1, period_s)
    now = {name: state.copy() for name, state in START.items()}
    states: dict[str, list[Array]] = {name: [] for name in now}
    forces: dict[str, list[Array]] = {name: [] for name in now}
    count = round(duration_s / period_s)
    for _ in range(count):
        applied = docking.step(now)
        for name, force in applied.items():
            states[name].append(now[name])
            forces[name].append(force)
            now[name] = plant(now[name], force[None])[0][0]
    return Approach(
        np.arange(count, dtype=float) * period_s,
        {name: np.array(rows) for name, rows in states.items()},
        {name: np.array(rows) for name, rows in forces.items()},
    )
