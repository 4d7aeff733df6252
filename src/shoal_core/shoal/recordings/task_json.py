"""Orders to start and cancel a task, and how it goes, as JSON (std_msgs/String)."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import validate
from shoal.config.json_text import json_object
from shoal.messages import topics
from shoal.messages.task_order import TaskOrder, TaskStatus


class _Order(FileModel):
    action: Literal["start", "cancel"]
    task: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _named(self) -> _Order:
        if (self.action == "start") != bool(self.task):
            raise ValueError(f"task = '{self.task}' with action '{self.action}'; expected one to start, none to cancel")
        return self


def order_to_json(order: TaskOrder) -> str:
    """Of `/fleet/set_task`."""
    return json.dumps(asdict(order), allow_nan=False)


def order_from_json(text: str) -> TaskOrder:
    """A ShoalError with topic, key, value and expectation when it cannot be believed."""
    read = validate(Path(topics.SET_TASK.name), json_object(text, topics.SET_TASK.name), _Order)
    return TaskOrder(read.action, read.task, read.settings)


def status_to_json(status: TaskStatus) -> str:
    """Of `/fleet/task`."""
    return json.dumps(asdict(status), allow_nan=False)
