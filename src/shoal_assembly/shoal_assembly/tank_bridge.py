"""The `tank_bridge` node: vessels that speak the topics of the vessel-platform thesis (S16) under our controllers.

Tracked poses become odometry, thrust becomes speeds and angles, and with `references` whoever sends a Pose2D moves a
vessel as the thesis's operator did; then neither guidance nor a fleet manager runs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from geometry_msgs.msg import Pose2D, PoseStamped
from rclpy.node import Node
from std_msgs.msg import Float64, Float64MultiArray, String

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.frames import scalar_first, yaw_of
from shoal.messages import topics
from shoal.messages.preview import track_preview
from shoal.messages.track import SurfaceTrack
from shoal.platform.model import PlanarPose
from shoal.platform.tank import Actuation, PoseDifferences
from shoal.recordings.placement_json import formation_to_json
from shoal.tasks.assemble import placement_of
from shoal_ros import convert, endpoints, process
from shoal_ros.parameters import declare

REFERENCE_S = 0.1


class TankBridge(Node):
    """Of all vessels of a fleet."""

    def __init__(self) -> None:
        super().__init__("tank_bridge")
        fleet = load_fleet(declare(self, "fleet", "vessels3", "fleet file, or the name of one in config/fleets"))
        self._with_references = declare(self, "references", False, "Pose2D messages move the vessels")
        self._differences = {name: PoseDifferences() for name in fleet.names}
        self._actuation, self._inputs_N = {}, {}
        self._odometry_out, self._actuation_out = {}, {}
        for member in fleet.vehicles:
            name, vehicle = member.name, member.vehicle()
            if any(thruster.kind != "azimuth" for thruster in vehicle.thrusters):
                raise ShoalError(f"tank_bridge: {name} is a {member.type}; expected azimuth thrusters only")
            self._actuation[name] = Actuation(vehicle)
            self._inputs_N[name] = np.zeros(vehicle.input_count)
            self._odometry_out[name] = endpoints.publisher(self, topics.ODOMETRY, vehicle=name)
            self._actuation_out[name] = endpoints.publisher(self, topics.TANK_ACTUATION, vehicle=name)
            endpoints.subscription(self, topics.TANK_POSE, partial(self._on_pose, name), vehicle=name)
            for k, thruster in enumerate(vehicle.input_names):
                on_thrust = partial(self._on_thrust, name, k)
                endpoints.subscription(self, topics.THRUST, on_thrust, vehicle=name, thruster=thruster)
        self._tracks: dict[str, SurfaceTrack] = {}
        if self._with_references:
            self._reference = endpoints.publisher(self, topics.REFERENCE)
            self._formation = endpoints.publisher(self, topics.FORMATION)
            self._formation.publish(String(data=formation_to_json(placement_of(fleet.names))))
            for name in fleet.names:
                endpoints.subscription(self, topics.TANK_REFERENCE, partial(self._on_reference, name), vehicle=name)
            self.create_timer(REFERENCE_S, self._publish_reference)

    def _on_pose(self, name: str, message: PoseStamped) -> None:
        p, q = message.pose.position, message.pose.orientation
        attitude = scalar_first(np.array([q.x, q.y, q.z, q.w]))
        if not np.isfinite([p.x, p.y, *attitude]).all() or abs(float(np.linalg.norm(attitude)) - 1.0) > 0.01:
            self.get_logger().error(
                f"{topics.TANK_POSE.of(vehicle=name)}: position ({p.x}, {p.y}), quaternion {attitude.tolist()}; "
                "expected finite numbers and a rotation", throttle_duration_sec=2.0,
            )  # fmt: skip
            return
        pose = PlanarPose(p.x, p.y, yaw_of(attitude))
        odometry = self._differences[name].odometry(convert.from_stamp(message.header.stamp), pose)
        if odometry is not None:
            self._odometry_out[name].publish(convert.odometry_to_bytes(odometry, name))

    def _on_thrust(self, name: str, index: int, message: Float64) -> None:
        """Inputs come one by one; the last one completes a command."""
        inputs = self._inputs_N[name]
        inputs[index] = message.data if math.isfinite(message.data) else 0.0
        if index == len(inputs) - 1:
            self._actuation_out[name].publish(Float64MultiArray(data=self._actuation[name].of(inputs)))

    def _on_reference(self, name: str, message: Pose2D) -> None:
        if not np.isfinite([message.x, message.y, message.theta]).all():
            where = topics.TANK_REFERENCE.of(vehicle=name)
            self.get_logger().error(f"{where}: {message.x}, {message.y}, {message.theta}; expected finite numbers")
            return
        self._tracks[name] = SurfaceTrack(message.x, message.y, message.theta)

    def _publish_reference(self) -> None:
        """Of those that were told; the others hold where they are."""
        if self._tracks:
            t_s = float(self.get_clock().now().nanoseconds * 1e-9)
            first = next(iter(self._tracks.values()))
            preview = replace(track_preview(t_s, first), tracks=dict(self._tracks))
            self._reference.publish(convert.preview_to_bytes(preview, t_s))


def main() -> None:
    """Entry point."""
    process.run(TankBridge)


if __name__ == "__main__":
    main()
