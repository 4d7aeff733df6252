"""A task of the core in place of an operator: the same director as in the simulator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.fleet.file import Fleet
from shoal.messages.docking import DockingFeedback
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.preview import Preview
from shoal.simulation.conditions import load_condition
from shoal.simulation.docking_flight import HearsOfDocking
from shoal.simulation.simulator import Directing
from shoal.tasks.base import TaskContext
from shoal.tasks.run import make_task


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


def make_orders(task: str, fleet: Fleet, path: str, condition: str, seed: int) -> TaskOrders:
    """From its names."""
    context = TaskContext(fleet, load_condition(condition or "default"), {}, path, seed)
    return TaskOrders(make_task(task, context).director())
