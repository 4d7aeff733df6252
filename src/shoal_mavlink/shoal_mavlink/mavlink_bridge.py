"""Node `mavlink_bridge`, one per vehicle: an ArduSub behind the fleet's topics. What it does is in `bridge.Bridge`.

It lives in wall time: whatever a simulated clock does, a vehicle must not keep its last command. For trials on a desk
there is `lockstep`: time is /bridge_clock's, and the autopilot, a stand-in in lock step too, is asked to follow it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from shoal.ardusub.axis_map import AxisMap
from shoal.ardusub.parameters import POSITION_SOURCES, ROUTES
from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.fleet.stop import StopLatch, StopState
from shoal.frames import enu_to_ned
from shoal.messages import topics
from shoal_mavlink.bridge import Bridge, BridgeSettings
from shoal_mavlink.link import Link
from shoal_mavlink.lock_step import LockStep
from shoal_ros import convert, endpoints, process
from shoal_ros.diagnostics import Diagnostics, Level
from shoal_ros.parameters import declare
from shoal_ros.stop import StopEndpoints, state_folder

SEND_S, READ_S = 0.02, 0.004
MAPS = ("newton", "simple")


class MavlinkBridge(Node):
    """Thrust in, odometry out; services `~/arm` and `~/stop`."""

    def __init__(self) -> None:
        super().__init__("mavlink_bridge")
        fleet = declare(self, "fleet", "two", "fleet name or file")
        self.me = declare(self, "vehicle", "", "our name in the fleet")
        url = declare(self, "link", "udpin:0.0.0.0:14550", "udpin:, udpout:, tcp: or tcpin: with ADDRESS:PORT")
        system = declare(self, "autopilot_system", 1, "MAVLink system id of the autopilot", low=1, high=255)
        source = declare(self, "position_source", "vehicle", f"one of: {', '.join(POSITION_SOURCES)}")
        table = declare(self, "thruster_table", "t200", "thrusters: name or file in config/thrusters")
        voltage_V = declare(self, "voltage_V", 16.0, "V, until the autopilot reports one", low=5.0, high=60.0)
        method = declare(self, "map", "newton", f"from forces to axes, one of: {', '.join(MAPS)}")
        route = declare(self, "route", "axes", f"to the thrusters, one of: {', '.join(ROUTES)}")
        timeout_s = declare(
            self, "command_timeout_s", 0.12, "s without thrust commands, then neutral", low=0.05, high=0.15
        )
        rate_hz = declare(self, "odometry_rate_hz", 20.0, "Hz asked of the autopilot", low=1.0, high=100.0)
        origin = [declare(self, f"origin_{axis}_m", 0.0, f"m, {axis}, of the autopilot's origin in map (ENU)")
                  for axis in ("east", "north", "up")]  # fmt: skip
        latitude = declare(self, "latitude_deg", 0.0, "where in the world, for the compass", low=-90.0, high=90.0)
        longitude = declare(self, "longitude_deg", 0.0, "…, positive to the east", low=-180.0, high=180.0)
        lockstep = declare(self, "lockstep", False, "on a desk: time is /bridge_clock's, and a stand-in follows it")
        loaded = load_fleet(fleet)
        if self.me not in loaded.names:
            raise ShoalError(
                f"vehicle = '{self.me}': not in fleet '{fleet}'; expected one of: {', '.join(loaded.names)}"
            )
        for name, value, known in (
            ("position_source", source, POSITION_SOURCES),
            ("map", method, MAPS),
            ("route", route, ROUTES),
        ):
            if value not in known:
                raise ShoalError(f"{name} = '{value}'; expected one of: {', '.join(known)}")
        vehicle = next(m for m in loaded.vehicles if m.name == self.me).vehicle()
        axis_map = AxisMap(vehicle, table, voltage_V, method=method)
        settings = BridgeSettings(
            system,
            position_source=source,
            command_timeout_s=timeout_s,
            odometry_rate_hz=rate_hz,
            route=route,
            latitude_deg=latitude,
            longitude_deg=longitude,
        )
        self.bridge = Bridge(axis_map, settings, enu_to_ned(np.array(origin)))
        self._link = Link(url)
        latch = StopLatch(state_folder(self, fleet) / f"{self.me}.bridge.stop.json")
        self.bridge.stopped = latch.stopped
        self._open_topics(vehicle.input_names)
        StopEndpoints(self, latch, self._on_stop_change)
        self.create_service(SetBool, "~/arm", self._on_arm)
        self._steps = LockStep(self._link, self.bridge.codec) if lockstep else None
        if self._steps is not None:
            endpoints.subscription(self, topics.BRIDGE_CLOCK, self._follow)
        else:
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self.create_timer(SEND_S, self._send, clock=steady)
            self.create_timer(READ_S, self._read, clock=steady)
        self.get_logger().info(f"{self.me}: autopilot {system} on {url}; it is armed by the service ~/arm only")

    def _open_topics(self, thrusters: tuple[str, ...]) -> None:
        me, group = self.me, endpoints.Polled()
        self._commands = [endpoints.polled(self, topics.THRUST, group, vehicle=me, thruster=t) for t in thrusters]
        self._external = endpoints.polled(self, topics.EXTERNAL_ODOMETRY, group, raw=True, vehicle=me)
        self._odometry = endpoints.publisher(self, topics.ODOMETRY, vehicle=me)
        self._thrusters_live = endpoints.publisher(self, topics.THRUSTERS_LIVE, vehicle=me)
        self._told_live: bool | None = None
        self._diagnostics = Diagnostics(self, f"{me} autopilot", me)
        self._last = b""  # odometry

    def _now_s(self) -> float:
        return time.monotonic() if self._steps is None else self._steps.t_s

    def _follow(self, clock: Any) -> None:
        """In lock step: everything up to that time, or once more what is known of it."""
        assert self._steps is not None
        moved = False
        try:
            for received in self._steps.up_to(convert.from_stamp(clock.clock), SEND_S, self._send):
                self._take(received, self._steps.t_s, 0.0)
                moved = True
        except ShoalError as error:
            process.give_up(str(error))
        if not moved and self._last:  # the clock stands: somebody has not heard us
            self._odometry.publish(self._last)

    def _read(self) -> None:
        """Odometry must not wait for the next send."""
        now_s = time.monotonic()
        self._take(self._link.receive(), now_s, self.get_clock().now().nanoseconds * 1e-9 - now_s)

    def _take(self, received: list[bytes], now_s: float, ros_s: float) -> None:
        """`ros_s`: from our time to that of ROS."""
        for data in received:
            self.bridge.take(data, now_s)
        for odometry in self.bridge.odometry:
            stamped = type(odometry)(odometry.stamp_s + ros_s, odometry.state)
            self._last = convert.odometry_to_bytes(stamped, self.me)
            self._odometry.publish(self._last)
        self.bridge.odometry.clear()

    def _send(self) -> None:
        now_s = self._now_s()
        newest = [endpoints.take_all(waiting)[-1:] for waiting in self._commands]
        self.bridge.thrust(np.array([found[0][0].data if found else np.nan for found in newest]), now_s)
        for data, _ in endpoints.take_all(self._external)[-1:]:
            try:
                self.bridge.external(convert.odometry_from_bytes(data), now_s)
            except ShoalError as error:
                self.get_logger().error(f"{topics.EXTERNAL_ODOMETRY.of(vehicle=self.me)}: {error}")
        self._link.send(self.bridge.send(now_s))
        if (live := self.bridge.live(now_s)) is not self._told_live:
            self._told_live = live
            self._thrusters_live.publish(Bool(data=live))
        self._report(now_s)

    def _report(self, now_s: float) -> None:
        while self.bridge.events:
            self.get_logger().warning(f"{self.me}: {self.bridge.events.popleft()}")
        level, sentence, values = self.bridge.status(now_s)
        self._diagnostics.report(self.get_clock().now().nanoseconds * 1e-9, Level(level), sentence, values)

    def _on_arm(self, request: Any, response: Any) -> Any:
        now_s = self._now_s()
        refused: list[str] = []
        if request.data:
            refused = self.bridge.arm(now_s)
        else:
            self.bridge.disarm(now_s)
        response.success = not refused
        response.message = "; ".join(refused) or ("asked for" if request.data else "disarmed")
        self._send()
        return response

    def _on_stop_change(self, state: StopState) -> None:
        """At once."""
        self.bridge.stopped = state.stopped
        self._send()

    def close(self) -> None:
        """Nothing keeps turning."""
        self._link.send(self.bridge.neutral())
        self._link.close()


def main() -> None:
    """`ros2 run shoal_mavlink mavlink_bridge`."""
    process.run(MavlinkBridge)


if __name__ == "__main__":
    main()
