"""Inspect and dock (Nielsen 2018, section 8.4) in six degrees of freedom: the leader goes around an object, within 3 m
and in the cone of one camera, while another vehicle docks with it under the eye of its other camera."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.docking.phases import DockingSettings
from shoal.docking.pilot import bearing_deg
from shoal.errors import ShoalError
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.simulator import Directing
from shoal.tasks.base import TaskContext
from shoal.tasks.dock import DockTask, DockTaskSettings
from shoal.tasks.dock_director import DockDirector, Plan
from shoal.tasks.docking_director import HORIZON_S
from shoal.vehicles.description import Vehicle
from shoal.vehicles.ports import PortMarker

Array = NDArray[np.float64]


class InspectAndDockSettings(DockTaskSettings):
    """The leader's way, and whom it looks at."""

    watch_port: str = Field(default="bow", description="whose camera is kept on the object")
    object_m: float = Field(default=2.0, gt=1.0, le=2.9, description="from the leader; it must stay within 3 m")
    orbit_mps: float = Field(default=0.1, ge=0, le=0.5, description="of the leader around the object")


class InspectDirector(DockDirector):
    """The leader goes around a place, and looks at it; latched, both stay."""

    def __init__(self, plan: Plan, vehicles: Mapping[str, Vehicle], names: tuple[str, ...], docking: DockingSettings,
                 settings: InspectAndDockSettings, object_m: Array, looks_rad: float) -> None:  # fmt: skip
        """`object_m` (3,) NED. `looks_rad`: of the camera's axis, off the bow."""
        super().__init__(plan, vehicles, names, docking)
        self._around, self.object_m, self._looks_rad = settings, object_m, looks_rad
        self._ahead = False

    def look_ahead(self) -> None:
        """The object is ahead of the leader's camera, wherever that is when it begins."""
        self._ahead = True

    def _begin(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        orders = super()._begin(t_s, odometry)
        if self._ahead:
            towards = self._origin_rad + self._looks_rad
            self.object_m = self._origin_m + self._around.object_m * np.array(
                [math.cos(towards), math.sin(towards), 0.0]
            )
            orders = replace(orders, reference=self._reference(t_s))
        x, y, z = self.object_m.tolist()
        assert orders.docking is not None
        return replace(orders, docking=replace(orders.docking, watch_port=self._around.watch_port, watch_m=(x, y, z)))

    def _reference(self, t_s: float) -> Preview:
        if self._joined:
            return super()._reference(t_s)
        self._sent_s = t_s
        times_s = t_s + HORIZON_S
        out = self._origin_m - self.object_m
        radius = float(np.hypot(out[0], out[1]))
        rate = self._around.orbit_mps / radius
        angles = math.atan2(out[1], out[0]) + rate * (times_s - self._from_s)
        places = np.tile(self._origin_m, (len(times_s), 1))
        places[:, 0] = self.object_m[0] + radius * np.cos(angles)
        places[:, 1] = self.object_m[1] + radius * np.sin(angles)
        velocities = rate * radius * np.column_stack([-np.sin(angles), np.cos(angles), np.zeros(len(times_s))])
        return Preview(times_s, places, velocities, angles + math.pi - self._looks_rad)


class InspectAndDock(DockTask):
    """Of the first two vehicles of the fleet: the first one inspects, and leads."""

    Settings = InspectAndDockSettings

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        s, name = self._inspection, self.fleet.names[0]
        port = next((p for p in self._vehicles[name].ports if p.name == s.watch_port), None)
        if port is None or port.camera is None or s.watch_port == s.leader_port:
            raise ShoalError(
                f"task inspect_and_dock: watch_port = '{s.watch_port}'; expected another port of '{name}' than "
                f"leader_port = '{s.leader_port}', with a camera"
            )
        self._watching = port
        self._looks_rad = math.atan2(port.camera.axis[1], port.camera.axis[0])
        towards = self._heading_rad + self._looks_rad
        lead = self.start()[name].array[POSITION]
        self.object_m = lead + s.object_m * np.array([math.cos(towards), math.sin(towards), 0.0])

    @property
    def _inspection(self) -> InspectAndDockSettings:
        settings: InspectAndDockSettings = self.context.settings
        return settings

    def director(self) -> Directing:
        s, names = self._inspection, self.fleet.names
        plan = Plan(
            names[0], s.leader_port, names[1], s.follower_port, np.zeros(3), 0.0, not s.camera, s.swim_on_s, s.path,
            s.undock,
        )  # fmt: skip
        self._director = InspectDirector(
            plan, self._vehicles, names, DockingSettings(), s, self.object_m, self._looks_rad
        )
        return self._director

    def outcome(self, recording: Recording) -> Outcome:
        """As of `dock`, and how well the object was kept in view."""
        found = super().outcome(recording)
        until_s = math.inf if self._director is None or self._director.latch is None else self._director.latch.t_s
        states = recording.states[recording.times_s < until_s, 0]
        spot = np.zeros(13)
        spot[POSITION], spot[3] = self.object_m, 1.0
        mark = replace(self._watching, marker=PortMarker(np.zeros(3), np.array([1.0, 0.0, 0.0])))
        watch = {
            "dock_watch_deg": max(bearing_deg(self._watching, x, mark, spot) for x in states[::2]),
            "dock_watch_m": float(np.linalg.norm(states[:, POSITION] - self.object_m, axis=1).max()),
        }
        return replace(found, measured={**found.measured, **watch})
