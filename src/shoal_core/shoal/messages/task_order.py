"""A task that is started, followed and cancelled while the fleet swims, such as a chain of dockings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shoal.messages.docking import DockingFeedback

TaskState = Literal["idle", "running", "succeeded", "failed", "cancelled"]


@dataclass(frozen=True)
class TaskOrder:
    """Start one, or cancel the one that runs."""

    action: Literal["start", "cancel"]
    task: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskStatus:
    """Of the task that was started last."""

    counter: int = 0  # of starts, since guidance began
    task: str = ""
    state: TaskState = "idle"
    done: int = 0  # dockings
    of: int = 0
    docking: DockingFeedback | None = None  # the one that is under way: phase, errors, tries
    reason: str = ""  # of a failure, or of a cancel
    refused: str = ""  # why the last order cannot be; what was under way goes on
