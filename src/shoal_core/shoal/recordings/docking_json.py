"""Orders to dock and what the vehicles report of them, as JSON (std_msgs/String).

On the topics a place of the world is ENU (REP-103), as everywhere on ROS.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from shoal.config.file_model import FileModel, Vector
from shoal.config.files import validate
from shoal.config.json_text import json_object
from shoal.frames import enu_to_ned, ned_to_enu
from shoal.messages import topics
from shoal.messages.docking import DockingFeedback, DockingOrder


class _Order(FileModel):
    counter: int = Field(ge=0)
    action: Literal["dock", "undock", "cancel"]
    leader: str
    leader_port: str
    follower: str
    follower_port: str
    blind: bool = False
    watch_port: str = ""
    watch_m: Vector = (0.0, 0.0, 0.0)


class _Status(FileModel):
    counter: int = Field(ge=0)
    phase: str
    gap_m: float
    lateral_m: float
    angle_deg: float
    bearing_deg: float
    tries: int = Field(ge=0)
    reason: str
    refused: str = ""


def order_to_json(order: DockingOrder) -> str:
    """Of `/fleet/set_docking`."""
    return json.dumps(asdict(order) | {"watch_m": ned_to_enu(np.array(order.watch_m)).tolist()}, allow_nan=False)


def order_from_json(text: str) -> DockingOrder:
    """A ShoalError with topic, key, value and expectation when it cannot be believed."""
    topic = topics.SET_DOCKING.name
    read = validate(Path(topic), json_object(text, topic), _Order)
    x, y, z = enu_to_ned(np.array(read.watch_m)).tolist()
    return DockingOrder(**read.model_dump() | {"watch_m": (x, y, z)})


def status_to_json(status: DockingFeedback) -> str:
    """Of `/<vehicle>/docking`."""
    return json.dumps(asdict(status), allow_nan=False)


def status_from_json(text: str, topic: str) -> DockingFeedback:
    """The other way round; `topic` is whose status it is."""
    return DockingFeedback(**validate(Path(topic), json_object(text, topic), _Status).model_dump())
