"""What RViz and Foxglove draw: vehicles, sight cones, plans and the setpoint, as markers."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point, Pose
from numpy.typing import NDArray
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from shoal.frames import ned_to_enu
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal_ros.convert import WORLD, to_pose, to_stamp

Array = NDArray[np.float64]
BODY_M = (0.46, 0.58, 0.25)  # a BlueROV2 Heavy's box: length, width, height
CONE_M = 3.0
RIM = 24  # points around a cone's rim


def colour(index: int, alpha: float = 1.0) -> ColorRGBA:
    """Far apart for neighbouring numbers: the golden angle around the wheel."""
    r, g, b = colorsys.hsv_to_rgb((0.55 + 0.618034 * index) % 1.0, 0.65, 0.95)
    return ColorRGBA(r=r, g=g, b=b, a=alpha)


def vehicle_markers(index: int, name: str, odometry: Odometry, cone_deg: float) -> list[Marker]:
    """Box, name and sight cone."""
    pose = to_pose(odometry.position_m, odometry.attitude)
    body = _marker(odometry.stamp_s, f"{name}/body", Marker.CUBE, pose, colour(index))
    body.scale.x, body.scale.y, body.scale.z = BODY_M
    text = _marker(odometry.stamp_s, f"{name}/name", Marker.TEXT_VIEW_FACING, to_pose(
        odometry.position_m - np.array([0.0, 0.0, 0.5]), odometry.attitude), colour(index))  # fmt: skip
    text.text, text.scale.z = name, 0.3
    cone = _marker(odometry.stamp_s, f"{name}/cone", Marker.LINE_LIST, pose, colour(index, 0.4))
    cone.points, cone.scale.x = _cone(cone_deg), 0.01
    return [body, text, cone]


def plan_marker(index: int, plan: Plan) -> Marker:
    """Where it means to go."""
    line = _marker(plan.stamp_s, f"{plan.vehicle}/plan", Marker.LINE_STRIP, Pose(), colour(index))
    line.points, line.scale.x = _points(ned_to_enu(plan.positions_m)), 0.03
    if len(line.points) < 2:  # a strip of one point is an error in RViz
        line.action = Marker.DELETE
    return line


def setpoint_marker(stamp_s: float, pose: Pose) -> Marker:
    """The fleet's common point."""
    ball = _marker(stamp_s, "fleet/setpoint", Marker.SPHERE, pose, ColorRGBA(r=1.0, g=0.85, b=0.2, a=0.9))
    ball.scale.x = ball.scale.y = ball.scale.z = 0.2
    return ball


def _marker(stamp_s: float, space: str, kind: int, pose: Pose, paint: ColorRGBA) -> Marker:
    marker = Marker(ns=space, id=0, type=kind, action=Marker.ADD, pose=pose, color=paint)
    marker.header.frame_id, marker.header.stamp = WORLD, to_stamp(stamp_s)
    return marker


def _cone(half_angle_deg: float) -> list[Point]:
    """Pairs of points in the body frame, x ahead: four edges and the rim."""
    half = np.radians(min(half_angle_deg, 89.0))
    around = np.linspace(0, 2 * np.pi, RIM + 1)
    size = CONE_M * np.sin(half)
    rim = np.stack([np.full(RIM + 1, CONE_M * np.cos(half)), size * np.cos(around), size * np.sin(around)], axis=1)
    edges = [p for k in range(0, RIM, RIM // 4) for p in (np.zeros(3), rim[k])]
    pairs = [p for k in range(RIM) for p in (rim[k], rim[k + 1])]
    return _points(np.array([*edges, *pairs]))


def _points(array: Array | Sequence[Sequence[float]]) -> list[Point]:
    return [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in array]
