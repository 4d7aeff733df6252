"""A task of the core in place of an operator: the same director as in the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from shoal.errors import ShoalError
from shoal.fleet.file import Fleet
from shoal.messages.docking import DockingFeedback
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.preview import Preview
from shoal.messages.task_order import TaskOrder
from shoal.simulation.conditions import load_condition
from shoal.simulation.docking_flight import HearsOfDocking
from shoal.simulation.simulator import Directing
from shoal.tasks.base import TaskContext
from shoal.tasks.inspect_and_dock import InspectDirector
from shoal.tasks.run import make_task


@runtime_checkable
class Docking(Protocol):
    """A director that begins where the vehicles are, and has an end."""

    @property
    def dockings(self) -> tuple[int, int]: ...

    def over(self, t_s: float) -> bool: ...


class TaskOrders:
    """Its orders, and the reference that is in force between two of them."""

    def __init__(self, director: Directing) -> None:
        self._director = director
        self.preview: Preview | None = None
        self._latched = False

    def hear_of_docking(self, t_s: float, feedback: DockingFeedback | None, latched: bool) -> None:
        """The follower's word on our last order, and whether the two are joined."""
        if isinstance(self._director, HearsOfDocking):
            if feedback is not None:
                self._director.on_feedback(t_s, feedback)
            if latched and not self._latched:
                self._director.on_latch(t_s)
            self._latched = latched

    @property
    def dockings(self) -> tuple[int, int]:
        """Done, and of how many; none of any for a task of another kind."""
        return self._director.dockings if isinstance(self._director, Docking) else (0, 0)

    def over(self, t_s: float) -> bool:
        """Whether all has been done, or cannot be done any more."""
        return isinstance(self._director, Docking) and self._director.over(t_s)

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        """What goes out now."""
        orders = self._director.orders(t_s, odometry)
        self.preview = self.preview if orders.reference is None else orders.reference
        return orders

    def preview_at(self, t_s: float) -> Preview:
        """The reference as of now."""
        assert self.preview is not None
        ahead_s = self.preview.times_s - self.preview.times_s[0]
        return self.preview.at(t_s + np.asarray(ahead_s))


def started(order: TaskOrder, fleet: Fleet) -> TaskOrders:
    """By an operator's order; a ShoalError that says what is wrong with it."""
    task = make_task(order.task, TaskContext(fleet, load_condition("default"), dict(order.settings), "", 0))
    director = task.director()
    if not isinstance(director, Docking):
        raise ShoalError(
            f"task '{order.task}': cannot be started underway; expected dock, dock_chain, inspect_and_dock"
        )
    if isinstance(director, InspectDirector):
        director.look_ahead()
    return TaskOrders(director)


def make_orders(task: str, fleet: Fleet, path: str, condition: str, seed: int) -> TaskOrders:
    """From its names."""
    context = TaskContext(fleet, load_condition(condition or "default"), {}, path, seed)
    return TaskOrders(make_task(task, context).director())
