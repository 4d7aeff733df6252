"""Node: sends zero to thrusters whose controller has fallen silent.

Listens on the same topics as Gazebo's bridge and adds to them, instead of standing between: no delay for the commands,
and if this node dies the fleet swims on (the launch file starts it again).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from std_msgs.msg import Float64

from shoal.fleet.file import load_fleet
from shoal_gazebo.bridge import thrust_topic
from shoal_gazebo.thrust_watch import Moment, Thruster, ThrustWatch
from shoal_ros.process import flush, run

CHECK_PERIOD_S = 0.05
REPORT_PERIOD_S = 1.0


class ThrustWatchdog(Node):
    """One for the whole fleet."""

    def __init__(self) -> None:
        super().__init__("thrust_watchdog")
        fleet = load_fleet(str(self.declare_parameter("fleet", "two", _text("Fleet name or file.")).value))
        timeout = self._seconds("timeout_s", 0.5, "Silence after which a thruster is stopped, in simulation time.")
        wall = self._seconds("wall_timeout_s", 3.0, "The same by the wall clock, should /clock stand still.")
        self.watch = ThrustWatch(timeout, wall)
        self.stops: Counter[str] = Counter()
        self.topics = {
            (m.name, t.name): thrust_topic(m.name, t.name) for m in fleet.vehicles for t in m.vehicle().thrusters
        }
        self.outputs = {thruster: self.create_publisher(Float64, topic, 10) for thruster, topic in self.topics.items()}
        for thruster, topic in self.topics.items():
            self.create_subscription(Float64, topic, self._listener(thruster), 10)
        self.diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # Steady clock: a simulation clock that stops must not stop the watchdog as well.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(CHECK_PERIOD_S, self.check, clock=steady)
        self.create_timer(REPORT_PERIOD_S, self.report, clock=steady)
        self.get_logger().info(
            f"watching {len(self.topics)} thrusters of {len(fleet.vehicles)} vehicles, {timeout:g} s"
        )

    def _seconds(self, name: str, default: float, description: str) -> float:
        limits = FloatingPointRange(from_value=0.05, to_value=60.0, step=0.0)
        descriptor = ParameterDescriptor(description=description, floating_point_range=[limits], read_only=True)
        return float(self.declare_parameter(name, default, descriptor).value)

    def _listener(self, thruster: Thruster):  # type: ignore[no-untyped-def]
        return lambda message: self.watch.heard(thruster, message.data, self.now())

    def now(self) -> Moment:
        """Both clocks."""
        return Moment(self.get_clock().now().nanoseconds * 1e-9, time.monotonic())

    def check(self) -> None:
        """Stop what is overdue."""
        overdue = self.watch.overdue(self.now())
        for thruster in overdue:
            self.outputs[thruster].publish(Float64(data=0.0))
        for vehicle in sorted({vehicle for vehicle, _ in overdue}):
            self.stops[vehicle] += 1
            self.get_logger().warning(f"{vehicle}: no thrust command for {self.watch.timeout_s:g} s, thrusters stopped")
        if overdue:
            self.report()

    def report(self) -> None:
        """One diagnostics line per vehicle; an error while its thrusters are being stopped."""
        overdue = Counter(vehicle for vehicle, _ in self.watch.overdue(self.now()))
        message = DiagnosticArray()
        message.header.stamp = self.get_clock().now().to_msg()
        for vehicle in sorted({vehicle for vehicle, _ in self.topics}):
            late = overdue[vehicle]
            message.status.append(
                DiagnosticStatus(
                    level=DiagnosticStatus.ERROR if late else DiagnosticStatus.OK,
                    name=f"{vehicle}: thrust watchdog",
                    hardware_id=vehicle,
                    message=f"{late} thrusters stopped: controller silent" if late else "commands fresh or zero",
                    values=[KeyValue(key="stops", value=str(self.stops[vehicle]))],
                )
            )
        self.diagnostics.publish(message)

    def close(self) -> None:
        """Leave nothing running behind."""
        last = [self.outputs[thruster] for thruster in self.watch.pushing()]
        for output in last:
            output.publish(Float64(data=0.0))
        flush(last)


def _text(description: str) -> ParameterDescriptor:
    return ParameterDescriptor(description=description, read_only=True)


def main(args: Sequence[str] | None = None) -> None:
    """Entry point."""
    run(ThrustWatchdog, args)


if __name__ == "__main__":
    main()
