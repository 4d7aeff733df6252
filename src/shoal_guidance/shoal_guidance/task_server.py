"""Tasks that an operator starts while the fleet swims: start, feedback and cancel on topics, as an action has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rclpy.node import Node
from std_msgs.msg import String

from shoal.errors import ShoalError
from shoal.fleet.file import Fleet
from shoal.messages import topics
from shoal.messages.docking import DockingFeedback
from shoal.messages.task_order import TaskOrder, TaskState, TaskStatus
from shoal.recordings.task_json import order_from_json, status_to_json
from shoal.tasks.dock import why_not
from shoal_guidance.docking_orders import DockingOrders
from shoal_guidance.task_orders import TaskOrders, started
from shoal_ros import endpoints

EVERY_S = 0.2  # feedback


class TaskServer:
    """One task at a time; it begins where the vehicles are. Nothing of it survives a restart of guidance."""

    def __init__(
        self,
        node: Node,
        fleet: Fleet,
        docking: DockingOrders,
        take: Callable[[TaskOrders], None],
        leave: Callable[[], None],
    ) -> None:
        """`take`: has the task steer from now on, or raises a ShoalError that says why it cannot; `leave`: no more."""
        self._node, self._fleet, self._docking, self._take, self._leave = node, fleet, docking, take, leave
        self.status = TaskStatus()
        self._running: TaskOrders | None = None
        self._sent_s = 0.0
        self._out = endpoints.publisher(node, topics.TASK)
        endpoints.subscription(node, topics.SET_TASK, self._on_order)
        self._publish()

    def _on_order(self, message: String) -> None:
        try:
            self._carry_out(order_from_json(message.data))
            self.status = replace(self.status, refused="")
        except ShoalError as error:
            self._node.get_logger().error(f"{topics.SET_TASK.name}: {error}")
            self.status = replace(self.status, refused=str(error))
        self._publish()

    def _carry_out(self, order: TaskOrder) -> None:
        if order.action == "cancel":
            if self._running is None:
                raise ShoalError("cancel: no task that was started here runs; expected one that does")
            self.end("cancelled", "by order")
            self._leave()
            return
        if self._running is not None:
            raise ShoalError(f"task '{order.task}': '{self.status.task}' runs; expected it to be over, or cancelled")
        task = started(order, self._fleet)
        self._take(task)
        self._running = task
        self.status = TaskStatus(self.status.counter + 1, order.task, "running", 0, task.dockings[1])

    @property
    def running(self) -> bool:
        """Whether a task that was started here steers."""
        return self._running is not None

    def follow(self, t_s: float, docking: DockingFeedback | None) -> bool:
        """After each of its steps; whether it is over."""
        if self._running is None:
            return False
        done, of = self._running.dockings
        new = replace(self.status, done=done, docking=docking)
        changed = (done, docking and docking.phase) != (
            self.status.done,
            self.status.docking and self.status.docking.phase,
        )
        self.status = new
        if self._running.over(t_s):
            good = done == of
            self.end("succeeded" if good else "failed", "" if good else why_not(docking))
            return True
        if changed or not 0 <= t_s - self._sent_s < EVERY_S - 1e-6:
            self._sent_s = t_s
            self._publish()
        return False

    def end(self, state: TaskState, reason: str) -> None:
        """Whoever docks at the time goes back to the stand-off."""
        if self._running is None:
            return
        self._running = None
        if state != "succeeded":
            self._docking.cancel()
        self.status = replace(self.status, state=state, reason=reason)
        self._publish()

    def _publish(self) -> None:
        self._out.publish(String(data=status_to_json(self.status)))
