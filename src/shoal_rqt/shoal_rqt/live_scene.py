"""A running fleet in Rerun: the station's model, drawn again and again into a stream. No Qt, no ROS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.frames import ned_to_enu, quaternion_ned_to_enu, rotation_matrix, scalar_last
from shoal.messages.geometry import all_pairs
from shoal.messages.state import ATTITUDE, POSITION
from shoal.reports import rerun_scene as scene
from shoal.reports.plots.style import COLOURS, GREY
from shoal_rqt.drawn_path import DrawnPath
from shoal_rqt.model import FleetModel
from shoal_rqt.vehicle_state import VehicleState

Array = NDArray[np.float64]
TRACK_S = 1.0  # of the fleet's time between two drawings of where it has been
JOINT_RADIUS_M = 0.03


class LiveScene:
    """`show` as often as you like. A clock that goes back begins another recording."""

    def __init__(self, rr: Any, begin: Callable[[], Any]) -> None:
        """`begin` gives a new stream each time."""
        self._rr, self._begin = rr, begin
        self._stream: Any = None
        self._t_s = self._tracked_s = -np.inf
        self._joined: set[str] = set()

    def show(self, model: FleetModel, wall_s: float) -> None:
        """As it is now."""
        if model.t_s is None:
            return
        if self._stream is None or model.t_s < self._t_s:
            self._start(model)
        self._t_s = model.t_s
        self._stream.set_time(scene.TIMELINE, duration=model.t_s)
        track = model.t_s - self._tracked_s >= TRACK_S
        self._tracked_s = model.t_s if track else self._tracked_s
        for index, vehicle in enumerate(model.vehicles.values()):
            self._show_vehicle(model, vehicle, index, wall_s, track)
        self._show_reference(model)
        self._show_joints(model)
        self._show_numbers(model, wall_s)

    def _start(self, model: FleetModel) -> None:
        self._stream, self._tracked_s, self._joined = self._begin(), -np.inf, set()
        self._path, self._path_name = DrawnPath(), ""
        self._bodies: dict[str, object] = {}
        self._styles: set[str] = set()
        scene.log_world(self._rr, self._stream)

    def _show_vehicle(self, model: FleetModel, vehicle: VehicleState, index: int, wall_s: float, track: bool) -> None:
        if vehicle.odometry is None:
            return
        rr, path, lost = self._rr, f"world/{vehicle.name}", vehicle.is_lost(wall_s)
        sees = any(seer == vehicle.name for seer, _ in model.sight_pairs)
        order = model.structures.order
        docks = order is not None and vehicle.name in (order.leader, order.follower)
        if self._bodies.get(vehicle.name) != (now := (id(vehicle.shape), lost, sees, docks)):
            self._bodies[vehicle.name] = now
            words = f"{vehicle.name} LOST" if lost else vehicle.name
            scene.log_body(rr, self._stream, path, words, index, vehicle.shape)
            if docks and vehicle.shape is not None:
                scene.log_port_cameras(rr, self._stream, path, index, vehicle.shape)
            if sees:
                scene.log_sight_cone(rr, self._stream, path, index, model.limits.sight_soft_deg)
        state = vehicle.odometry.state
        pose = rr.Transform3D(
            translation=ned_to_enu(state[POSITION]),
            quaternion=scalar_last(quaternion_ned_to_enu(state[ATTITUDE])),
        )
        self._stream.log(path, pose)
        going = np.zeros((0, 3)) if vehicle.plan is None or lost else vehicle.plan.positions_m
        self._lines(f"world/plans/{vehicle.name}", [going[np.isfinite(going).all(axis=1)]], scene.colour_of(index))
        if track:
            been = [vehicle.trail.points_m]
            self._lines(f"world/tracks/{vehicle.name}", been, (*scene.colour_of(index), 120), static=True)
        self._number(f"depth/{vehicle.name}", vehicle.name, float(state[POSITION][2]), COLOURS[index % len(COLOURS)])

    def _show_reference(self, model: FleetModel) -> None:
        points = self._path.of(model.test)
        if self._path.name != self._path_name:
            self._path_name = self._path.name
            self._lines("world/path", [points], scene.rgb(GREY), static=True)
        if model.preview is not None:
            ahead = ned_to_enu(model.preview.positions_m)
            self._stream.log("world/setpoint", self._rr.Points3D(ahead[:1], radii=[0.06], labels=["setpoint"]))

    def _show_joints(self, model: FleetModel) -> None:
        for joint in model.structures.joining.joints:
            ends = [model.vehicles.get(name) for name in (joint.a, joint.b)]
            states = [v.odometry.state for v in ends if v is not None and v.odometry is not None]
            if len(states) == 2:
                places = zip(states, (joint.at_a_m, joint.at_b_m), strict=True)
                met = [s[POSITION] + rotation_matrix(s[ATTITUDE]) @ np.asarray(at) for s, at in places]
                line = np.array([states[0][POSITION], np.mean(met, axis=0), states[1][POSITION]])
                path = f"world/joints/{joint.a}_{joint.b}"
                self._stream.log(path, self._rr.LineStrips3D([ned_to_enu(line)], colors=[scene.rgb(COLOURS[1])],
                                                             radii=[JOINT_RADIUS_M]))  # fmt: skip
        now = {f"world/joints/{j.a}_{j.b}" for j in model.structures.joining.joints}
        for path in self._joined - now:
            self._stream.log(path, self._rr.Clear(recursive=False))
        self._joined = now

    def _show_numbers(self, model: FleetModel, wall_s: float) -> None:
        names = tuple(model.vehicles)
        for seer, seen in model.sight_pairs:
            if seer in names and seen in names:
                angle = model.neighbour(seer, seen, wall_s).angle_deg
                colour = COLOURS[names.index(seer) % len(COLOURS)]
                self._number(f"sight/{seer}_{seen}", f"{seer} → {seen}", angle, colour)
        for a, b in all_pairs(len(names)):
            distance = model.neighbour(names[a], names[b], wall_s).distance_m
            self._number(f"distance/{names[a]}_{names[b]}", f"{names[a]} – {names[b]}", distance)
        for path, value in scene.limit_values(model.limits).items():
            self._number(path, path.partition("/")[2].replace("_", " "), value, scene.limit_colour(path))

    def _number(self, path: str, label: str, value: float | None, colour: str = "") -> None:
        if path not in self._styles:
            self._styles.add(path)
            scene.log_line_style(self._rr, self._stream, path, label, colour)
        if value is not None:
            self._stream.log(path, self._rr.Scalars(value))

    def _lines(self, path: str, lines_m: list[Array], colour: tuple[int, ...], static: bool = False) -> None:
        strips = self._rr.LineStrips3D([ned_to_enu(line) for line in lines_m], colors=[colour])
        self._stream.log(path, strips, static=static)
