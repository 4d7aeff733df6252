"""Orders to start and cancel a task on a topic."""

from __future__ import annotations

import json

import pytest

from shoal.errors import ShoalError
from shoal.messages.docking import DockingFeedback
from shoal.messages.task_order import TaskOrder, TaskStatus
from shoal.recordings.task_json import order_from_json, order_to_json, status_to_json


@pytest.mark.parametrize("order", [TaskOrder("start", "dock_chain", {"settle_s": 1.0}), TaskOrder("cancel")])
def test_what_is_ordered_arrives(order: TaskOrder) -> None:
    assert order_from_json(order_to_json(order)) == order


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1]", r"/fleet/set_task"),
        ('{"action": "begin", "task": "dock"}', r"/fleet/set_task.*action.*begin.*'start' or 'cancel'"),
        ('{"action": "start"}', r"task = '' with action 'start'; expected one to start"),
        ('{"action": "cancel", "task": "dock"}', r"task = 'dock' with action 'cancel'; expected .* none to cancel"),
        ('{"action": "start", "task": "dock", "speed": 1}', r"speed"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(text: str, expected: str) -> None:
    with pytest.raises(ShoalError, match=expected):
        order_from_json(text)


def test_the_status_has_the_docking_under_way() -> None:
    told = DockingFeedback(3, "align", 1.1, 0.02, 0.5, 3.0, 1, "")
    found = json.loads(status_to_json(TaskStatus(2, "dock_chain", "running", 1, 2, told)))
    assert (found["state"], found["done"], found["of"], found["docking"]["phase"]) == ("running", 1, 2, "align")
    assert json.loads(status_to_json(TaskStatus()))["docking"] is None
