"""Node: sends zero to thrusters whose controller has fallen silent, and to all of them while the fleet is stopped.

It subscribes to the same topics as Gazebo's bridge and adds to them, instead of standing between: no delay for the
commands, and if this node dies the fleet swims on (the launch file starts it again). It is a holder of STOP: it
remembers it over a restart and needs no controller to obey.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time as TimeMessage
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Float64

from shoal.fleet.file import load_fleet
from shoal.fleet.stop import StopLatch, StopState
from shoal.messages import topics
from shoal_gazebo.thrust_watch import Moment, Thruster, ThrustWatch, is_push
from shoal_ros import endpoints
from shoal_ros.parameters import declare
from shoal_ros.process import flush, run
from shoal_ros.stop import StopEndpoints, state_folder

CHECK_PERIOD_S = 0.05
REPORT_PERIOD_S = 1.0


class ServedWhileStopped(CallbackGroup):
    """Polled at the check rate, a third of the cost of serving each command; while stopped each is answered at once."""

    def __init__(self, latch: StopLatch) -> None:
        super().__init__()
        self._latch = latch

    def can_execute(self, entity: Any) -> bool:
        return self._latch.stopped

    def beginning_execution(self, entity: Any) -> bool:
        return True

    def ending_execution(self, entity: Any) -> None:
        pass


class ThrustWatchdog(Node):
    """One for the whole fleet."""

    def __init__(self) -> None:
        # Time is /clock's all the same, but read at the check rate: rclpy's own time source wakes a node for each
        # of its 200 ticks a second, which cost more than everything else here.
        super().__init__("thrust_watchdog", parameter_overrides=[Parameter("use_sim_time", value=False)])
        name = declare(self, "fleet", "two", "fleet name or file")
        fleet = load_fleet(name)
        timeout_s = declare(
            self, "timeout_s", 0.5, "s of simulation time without a command, then it is stopped", low=0.05, high=60.0
        )
        wall_s = declare(
            self, "wall_timeout_s", 3.0, "s, the same by the wall clock, should /clock stop", low=0.05, high=60.0
        )
        self.watch = ThrustWatch(timeout_s, wall_s)
        self.stops: Counter[str] = Counter()
        self.vehicles = fleet.names
        self._latch = StopLatch(state_folder(self, name) / "watchdog.stop.json")
        thrusters = [(m.name, t) for m in fleet.vehicles for t in m.vehicle().input_names]
        self.outputs = {(v, t): endpoints.publisher(self, topics.THRUST, vehicle=v, thruster=t) for v, t in thrusters}
        group = ServedWhileStopped(self._latch)
        self.inputs = {
            (v, t): endpoints.subscription(
                self, topics.THRUST, partial(self._on_command_while_stopped, (v, t)), group, vehicle=v, thruster=t
            )
            for v, t in thrusters
        }
        self._clock_ticks, self._tick = endpoints.polled(self, topics.CLOCK, endpoints.Polled()), TimeMessage()
        self.diagnostics = endpoints.publisher(self, topics.DIAGNOSTICS)
        StopEndpoints(self, self._latch, self._on_stop_change)
        # Steady clock: a simulation clock that stops must not stop the watchdog as well.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(CHECK_PERIOD_S, self.check, clock=steady)
        self.create_timer(REPORT_PERIOD_S, self.report, clock=steady)
        self.get_logger().info(f"watching {len(thrusters)} thrusters of {len(self.vehicles)} vehicles, {timeout_s:g} s")

    def now(self) -> Moment:
        """Both clocks; simulation time as of its newest tick."""
        for message, _ in endpoints.take_all(self._clock_ticks)[-1:]:
            self._tick = message.clock
        return Moment(self._tick.sec + 1e-9 * self._tick.nanosec, time.monotonic())

    def _on_stop_change(self, _: StopState) -> None:
        self.check()
        self.report()

    def _on_command_while_stopped(self, thruster: Thruster, message: Float64) -> None:
        """A controller that does not obey must not win, not even for a check period."""
        self.watch.on_command(thruster, message.data, self.now())
        if self._latch.stopped and is_push(message.data):
            self._zero(thruster)

    def _zero(self, thruster: Thruster) -> None:
        self.outputs[thruster].publish(Float64(data=0.0))

    def check(self) -> None:
        """Stop what is overdue, or everything."""
        now = self.now()
        for thruster, waiting in self.inputs.items():
            for message, _ in endpoints.take_all(waiting)[-1:]:
                self.watch.on_command(thruster, message.data, now)
        if self._latch.stopped:
            for thruster in self.outputs:
                self._zero(thruster)
            return
        overdue = self.watch.overdue(now)
        for thruster in overdue:
            self._zero(thruster)
        for vehicle in sorted({vehicle for vehicle, _ in overdue}):
            self.stops[vehicle] += 1
            self.get_logger().warning(f"{vehicle}: no thrust command for {self.watch.timeout_s:g} s, thrusters stopped")
        if overdue:
            self.report()

    def report(self) -> None:
        """One diagnostics line per vehicle; an error while its thrusters are being stopped."""
        overdue = Counter(vehicle for vehicle, _ in self.watch.overdue(self.now()))
        message = DiagnosticArray()
        message.header.stamp = self._tick
        for vehicle in self.vehicles:
            level, text = self._status(overdue[vehicle])
            message.status.append(
                DiagnosticStatus(
                    level=level,
                    name=f"{vehicle}: thrust watchdog",
                    hardware_id=vehicle,
                    message=text,
                    values=[KeyValue(key="stops", value=str(self.stops[vehicle]))],
                )
            )
        self.diagnostics.publish(message)

    def _status(self, late: int) -> tuple[bytes, str]:
        if self._latch.stopped:
            return DiagnosticStatus.WARN, f"STOP {self._latch.state.counter}: zero thrust"
        if late:
            return DiagnosticStatus.ERROR, f"{late} thrusters stopped: controller silent"
        return DiagnosticStatus.OK, "commands fresh or zero"

    def close(self) -> None:
        """Leave nothing running."""
        last = [self.outputs[thruster] for thruster in self.watch.pushing()]
        for output in last:
            output.publish(Float64(data=0.0))
        flush(last)


def main(args: Sequence[str] | None = None) -> None:
    """Entry point."""
    run(ThrustWatchdog, args)


if __name__ == "__main__":
    main()
