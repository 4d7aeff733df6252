"""Joints, a group's thrust and its members' estimates as JSON (std_msgs/String).

On the topics a body frame is FLU, as everywhere on ROS (REP-103); an attitude is a quaternion with named parts.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from shoal.config.file_model import FileModel, Vector
from shoal.config.files import validate
from shoal.config.json_text import json_object
from shoal.estimation.timing_bank import TimingEstimate
from shoal.fleet.handover import Knowledge
from shoal.frames import flu_to_frd, frd_to_flu
from shoal.messages import topics
from shoal.messages.joining import DrawnJoint, GroupCommand, Joining, Ownership
from shoal.messages.odometry import Odometry

Array = NDArray[np.float64]


class _Quaternion(FileModel):
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    w: float = 1.0

    @model_validator(mode="after")
    def _unit(self) -> _Quaternion:
        length = math.sqrt(self.x**2 + self.y**2 + self.z**2 + self.w**2)
        if abs(length - 1.0) > 1e-3:
            raise ValueError(f"has length {length:.4g}, expected 1")
        return self

    def array(self) -> Array:
        """FRD, normalised."""
        q = np.array([self.w, self.x, -self.y, -self.z])
        return np.asarray(q / np.linalg.norm(q))


class _Joint(FileModel):
    a: str
    b: str
    at_a_m: Vector
    at_b_m: Vector
    attitude: _Quaternion = _Quaternion()


class _Assembly(FileModel):
    counter: int = Field(ge=0)
    joints: tuple[_Joint, ...] = ()
    partners: tuple[tuple[str, ...], ...] = ()
    magnets: tuple[tuple[str, ...], ...] | None = None


class _GroupThrust(FileModel):
    pilot: str
    assembly: int
    term: int = Field(ge=0)
    stamp_s: float
    thrust_N: tuple[float, ...] = Field(min_length=1)


class _Owner(FileModel):
    owner: str
    assembly: int = Field(ge=0)
    term: int = Field(ge=0)


class _Estimate(FileModel):
    stamp_s: float
    state_ned_frd: tuple[float, ...] = Field(min_length=13, max_length=13)
    wrench_frd: tuple[float, ...] = Field(min_length=6, max_length=6)
    current_ned_mps: Vector
    thrust_N: tuple[float, ...]
    lag_s: float
    delay_s: float
    certainty: float


def joining_to_json(joining: Joining) -> str:
    """Of `/fleet/assembly` and `/fleet/set_assembly`."""
    joints = [
        {
            "a": j.a,
            "b": j.b,
            "at_a_m": frd_to_flu(j.at_a_m).tolist(),
            "at_b_m": frd_to_flu(j.at_b_m).tolist(),
            "attitude": dict(zip("wxyz", (j.attitude * np.array([1.0, 1.0, -1.0, -1.0])).tolist(), strict=True)),
        }
        for j in joining.joints
    ]
    data = {"counter": joining.counter, "joints": joints, "partners": joining.partners}
    return json.dumps(data if joining.magnets is None else {**data, "magnets": joining.magnets})


def joining_from_json(text: str, topic: str = topics.ASSEMBLY.name) -> Joining:
    """A ShoalError with key, value and expectation when it cannot be believed."""
    read = validate(Path(topic), json_object(text, topic), _Assembly)
    joints = tuple(
        DrawnJoint(j.a, j.b, flu_to_frd(np.array(j.at_a_m)), flu_to_frd(np.array(j.at_b_m)), j.attitude.array())
        for j in read.joints
    )
    return Joining(read.counter, joints, read.partners, read.magnets)


def group_command_to_json(command: GroupCommand) -> str:
    """Of `/<vehicle>/group_thrust`."""
    data = {"pilot": command.pilot, "assembly": command.counter, "term": command.term, "stamp_s": command.stamp_s}
    return json.dumps(data | {"thrust_N": command.thrust_N.tolist()})


def group_command_from_json(text: str) -> GroupCommand:
    """The other way round."""
    read = validate(Path(topics.GROUP_THRUST.name), json_object(text, topics.GROUP_THRUST.name), _GroupThrust)
    return GroupCommand(read.pilot, read.assembly, read.term, read.stamp_s, np.array(read.thrust_N))


def ownership_to_json(ownership: Ownership) -> str:
    """Of `/<vehicle>/owner`."""
    return json.dumps({"owner": ownership.owner, "assembly": ownership.assembly, "term": ownership.term})


def ownership_from_json(text: str) -> Ownership:
    """The other way round."""
    read = validate(Path(topics.OWNER.name), json_object(text, topics.OWNER.name), _Owner)
    return Ownership(read.owner, read.assembly, read.term)


def knowledge_to_json(known: Knowledge) -> str:
    """Of `/<vehicle>/estimate`."""
    data = {
        "stamp_s": known.odometry.stamp_s,
        "state_ned_frd": known.odometry.state.tolist(),
        "wrench_frd": known.wrench.tolist(),
        "current_ned_mps": known.current_mps.tolist(),
        "thrust_N": known.thrust_N.tolist(),
        "lag_s": known.timing.lag_s,
        "delay_s": known.timing.delay_s,
        "certainty": known.timing.certainty,
    }
    return json.dumps(data)


def knowledge_from_json(text: str) -> Knowledge:
    """The other way round."""
    read = validate(Path(topics.ESTIMATE.name), json_object(text, topics.ESTIMATE.name), _Estimate)
    odometry = Odometry(read.stamp_s, np.array(read.state_ned_frd))
    timing = TimingEstimate(read.lag_s, read.delay_s, read.certainty)
    wrench, current = np.array(read.wrench_frd), np.array(read.current_ned_mps)
    return Knowledge(odometry, wrench, current, np.array(read.thrust_N), timing)
