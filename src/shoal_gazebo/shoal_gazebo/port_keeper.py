"""Node: ports of the vehicles in Gazebo. Orders arm them, cameras publish what they find, latches hold and open.

What is joined is remembered in a file: a node that comes back neither opens a latch nor forgets one. All latches that
are not in it are opened until Gazebo says that they are: it closes each of them when the second vehicle appears.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Empty, String

from shoal.config.atomic import write_text
from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.fleet.stop import StopLatch, StopState
from shoal.messages import topics
from shoal.messages.joining import Joining
from shoal.recordings.assembly_json import joining_from_json, joining_to_json
from shoal.recordings.docking_json import order_from_json
from shoal_gazebo.latches import ATTACH, DETACH, DETACHED, STATE, LatchPair, latch_pairs
from shoal_gazebo.port_watch import PortWatch
from shoal_ros import convert, endpoints
from shoal_ros.parameters import declare
from shoal_ros.process import run
from shoal_ros.stop import StopEndpoints, state_folder

Array = NDArray[np.float64]
INSIST_S = 0.5  # between two orders to a latch that is not as it should be


class PortKeeper(Node):
    """In Gazebo what the built-in plant's ports are."""

    def __init__(self) -> None:
        super().__init__("port_keeper")
        name = declare(self, "fleet", "two", "fleet name or file")
        fleet = load_fleet(name)
        folder = state_folder(self, name)
        self._file = folder / "gazebo_joints.json"
        self._watch = PortWatch(fleet, _remembered(self._file))
        self._states: dict[str, Array] = {}
        self._attached: dict[LatchPair, bool | None] = dict.fromkeys(latch_pairs(fleet))  # None: not known yet
        self._orders: dict[tuple[LatchPair, str], Publisher] = {}
        for pair in self._attached:
            for word in (ATTACH, DETACH):
                self._orders[pair, word] = self.create_publisher(Empty, pair.topic(word), 1)
            self.create_subscription(String, pair.topic(STATE), partial(self._on_state, pair), 1)
        self._fiducials: dict[tuple[str, str], Publisher] = {}
        for member in fleet.names:
            endpoints.subscription(self, topics.ODOMETRY, partial(self._on_odometry, member), raw=True, vehicle=member)
        self._assembly = endpoints.publisher(self, topics.ASSEMBLY)
        endpoints.subscription(self, topics.SET_DOCKING, self._on_docking)
        endpoints.subscription(self, topics.SET_ASSEMBLY, self._on_assembly)
        StopEndpoints(self, StopLatch(folder / "port_keeper.stop.json"), self._on_stop)
        self.create_timer(INSIST_S, self._insist)
        self._shown = Joining(-1)
        self._show()

    # -- what comes -------------------------------------------------------------------------------------------

    def _on_odometry(self, vehicle: str, data: bytes) -> None:
        odometry = convert.odometry_from_bytes(data)
        self._states[vehicle] = odometry.state
        for (name, other), found in self._watch.look(odometry.stamp_s, self._states).items():
            if (name, other) not in self._fiducials:
                out = endpoints.publisher(self, topics.FIDUCIAL, vehicle=name, other=other)
                self._fiducials[name, other] = out
            for sighting in found:
                self._fiducials[name, other].publish(convert.fiducial_to_message(sighting, name))
        for joint in self._watch.close(self._states):
            self.get_logger().info(f"{joint.b} has latched onto {joint.a}")
        self._show()

    def _on_state(self, pair: LatchPair, message: String) -> None:
        self._attached[pair] = message.data != DETACHED

    def _on_docking(self, message: String) -> None:
        try:
            self._watch.obey(order_from_json(message.data))
        except ShoalError as error:
            self.get_logger().error(f"{topics.SET_DOCKING.name}: {error}")
        self._show()

    def _on_assembly(self, message: String) -> None:
        try:
            self._watch.follow(joining_from_json(message.data, topics.SET_ASSEMBLY.name))
        except ShoalError as error:
            self.get_logger().error(f"{topics.SET_ASSEMBLY.name}: {error}")
        self._show()

    def _on_stop(self, state: StopState) -> None:
        """Latches stay as they are."""
        if state.stopped:
            self._watch.disarm()

    # -- what goes out ----------------------------------------------------------------------------------------

    def _show(self) -> None:
        """To the latches and to the fleet, when something has changed."""
        now = self._watch.present
        if now.counter == self._shown.counter:
            return
        self._shown = now
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_text(self._file, joining_to_json(now))
        self._insist()
        self._assembly.publish(String(data=joining_to_json(now)))

    def _insist(self) -> None:
        joined = {joint.pair for joint in self._watch.present.joints}
        for pair, attached in self._attached.items():
            wanted = pair.names in joined
            if attached is not wanted:
                self._orders[pair, ATTACH if wanted else DETACH].publish(Empty())


def _remembered(file: Path) -> Joining:
    """As before a crash; nobody is joined when a run begins."""
    try:
        return joining_from_json(file.read_text(encoding="utf-8"))
    except (OSError, ShoalError):
        return Joining(0)


def main(args: Sequence[str] | None = None) -> None:
    """Entry point."""
    run(PortKeeper, args)


if __name__ == "__main__":
    main()
