"""What joined vehicles send each other, there and back."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.estimation.timing_bank import TimingEstimate
from shoal.fleet.handover import Knowledge
from shoal.frames import from_euler, matrix
from shoal.messages.joining import DrawnJoint, GroupCommand, Joining
from shoal.messages.odometry import Odometry
from shoal.recordings.assembly_json import (
    group_command_from_json,
    group_command_to_json,
    joining_from_json,
    joining_to_json,
    knowledge_from_json,
    knowledge_to_json,
)

JOINT = DrawnJoint("a", "b", np.array([0.4, 0.1, -0.2]), np.array([0.3, 0.0, 0.1]), from_euler(0.3, -0.2, 2.0))


def test_joints_travel_in_flu_and_come_back() -> None:
    text = joining_to_json(Joining(7, (JOINT,), (("a", "c"),)))
    (sent,) = json.loads(text)["joints"]
    assert sent["at_a_m"] == pytest.approx([0.4, -0.1, 0.2])
    q = np.array([sent["attitude"][k] for k in "wxyz"])
    flip = np.diag([1.0, -1.0, -1.0])
    assert matrix(q) == pytest.approx(flip @ matrix(JOINT.attitude) @ flip)
    back = joining_from_json(text)
    assert back.counter == 7 and back.partners == (("a", "c"),) and back.magnets is None
    assert joining_from_json(joining_to_json(Joining(8, magnets=()))).magnets == ()
    assert joining_from_json(joining_to_json(Joining(8, magnets=(("a", "c"),)))).magnets == (("a", "c"),)
    (joint,) = back.joints
    assert joint.at_b_m == pytest.approx(JOINT.at_b_m) and joint.attitude == pytest.approx(JOINT.attitude)


def test_thrust_and_estimates_come_back() -> None:
    command = GroupCommand("a", 7, 2, 1.5, np.arange(16.0))
    back = group_command_from_json(group_command_to_json(command))
    assert (back.pilot, back.counter, back.term, back.stamp_s) == ("a", 7, 2, 1.5)
    assert back.thrust_N == pytest.approx(command.thrust_N)
    known = Knowledge(
        Odometry(3.0, np.arange(13.0)), np.ones(6), np.zeros(3), np.arange(8.0), TimingEstimate(0.1, 0.05, 0.7)
    )
    found = knowledge_from_json(knowledge_to_json(known))
    assert found.odometry.state == pytest.approx(known.odometry.state) and found.timing == known.timing
    assert found.thrust_N == pytest.approx(known.thrust_N)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "is not JSON"),
        ("[1]", "is no JSON object"),
        ('{"counter": -1}', "counter"),
        ('{"counter": 1, "joints": [{"a": "x", "b": "y", "at_a_m": [0, 0], "at_b_m": [0, 0, 0]}]}', "at_a_m"),
        ('{"counter": 1, "joints": [{"a": "x", "b": "y", "at_a_m": [0, 0, NaN], "at_b_m": [0, 0, 0]}]}', "at_a_m"),
        (
            '{"counter": 1, "joints": [{"a": "x", "b": "y", "at_a_m": [0, 0, 0], "at_b_m": [0, 0, 0],'
            ' "attitude": {"w": 3}}]}',
            "expected 1",
        ),
    ],
)
def test_an_order_that_cannot_be_believed_is_refused_in_a_sentence(text: str, why: str) -> None:
    with pytest.raises(ShoalError, match=why):
        joining_from_json(text)
