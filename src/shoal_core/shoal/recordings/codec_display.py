"""Core values → the bytes of the messages that are watched and recorded rather than computed with. See `codec`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.frames import ned_to_enu, quaternion_ned_to_enu, scalar_last
from shoal.messages.health import Health, Severity
from shoal.messages.state import ATTITUDE, POSITION
from shoal.messages.wording import summary
from shoal.recordings import diagnostic_values
from shoal.recordings.codec import WORLD, body_frame, split
from shoal.recordings.typestore import new, to_bytes

Array = NDArray[np.float64]


def float_to_bytes(value: float) -> bytes:
    """std_msgs/Float64."""
    return to_bytes(new("std_msgs/msg/Float64", data=float(value)))


def text_to_bytes(text: str) -> bytes:
    """std_msgs/String."""
    return to_bytes(new("std_msgs/msg/String", data=text))


def transforms_to_bytes(t_s: float, names: Sequence[str], states: Array) -> bytes:
    """tf2_msgs/TFMessage from the world to every vehicle; states (V,13)."""
    transforms = [_transform(t_s, name, state) for name, state in zip(names, states, strict=True)]
    return to_bytes(new("tf2_msgs/msg/TFMessage", transforms=transforms))


@dataclass(frozen=True)
class Status:
    """diagnostic_msgs/DiagnosticStatus."""

    name: str
    level: Severity
    message: str
    hardware_id: str
    values: Mapping[str, str]


def health_status(vehicle: str, health: Health, values: Mapping[str, str] | None = None) -> Status:
    """What a controller reports about itself; `values` where not all of a Health's figures are known."""
    found = diagnostic_values.health_values(health) if values is None else values
    name = diagnostic_values.status_name(vehicle)
    return Status(name, health.severity, summary(health), vehicle, found)


def diagnostics_to_bytes(t_s: float, statuses: Sequence[Status]) -> bytes:
    """diagnostic_msgs/DiagnosticArray."""
    made = [
        new("diagnostic_msgs/msg/DiagnosticStatus", level=int(s.level), name=s.name, message=s.message,
            hardware_id=s.hardware_id, values=[_pair(*item) for item in s.values.items()])
        for s in statuses
    ]  # fmt: skip
    return to_bytes(new("diagnostic_msgs/msg/DiagnosticArray", header=_header(t_s, ""), status=made))


def _pair(key: str, value: str) -> Any:
    return new("diagnostic_msgs/msg/KeyValue", key=key, value=value)


def _header(t_s: float, frame: str = WORLD) -> Any:
    sec, nanosec = split(t_s)
    stamp = new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
    return new("std_msgs/msg/Header", stamp=stamp, frame_id=frame)


def _rotation(quaternion: Array) -> Any:
    x, y, z, w = scalar_last(quaternion_ned_to_enu(quaternion)).tolist()
    return new("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)


def _transform(t_s: float, vehicle: str, state: Array) -> Any:
    x, y, z = ned_to_enu(state[POSITION]).tolist()
    move = new("geometry_msgs/msg/Vector3", x=x, y=y, z=z)
    transform = new("geometry_msgs/msg/Transform", translation=move, rotation=_rotation(state[ATTITUDE]))
    return new("geometry_msgs/msg/TransformStamped", header=_header(t_s), child_frame_id=body_frame(vehicle),
               transform=transform)  # fmt: skip
