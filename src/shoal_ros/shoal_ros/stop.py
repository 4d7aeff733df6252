"""STOP on ROS: how a node hears of it, remembers it and passes it on. The memory itself is `shoal.fleet.stop`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Bool, String, UInt64
from std_srvs.srv import SetBool

from shoal.errors import ShoalError
from shoal.fleet.stop import StopLatch, StopState
from shoal.messages import topics
from shoal_ros import endpoints
from shoal_ros.parameters import declare


def state_folder(node: Node, fleet: str) -> Path:
    """Where a node keeps what must survive its own crash: parameter `state_dir`, else a folder of the fleet's name.

    Whoever starts a run hands all its nodes one folder; what restarts within that run finds it again.
    """
    given = declare(node, "state_dir", "", "folder that outlives the node; empty: one per fleet and ROS domain")
    if given:
        return Path(given).expanduser()
    base = (
        os.environ.get("SHOAL_STATE") or Path(os.environ.get("XDG_STATE_HOME", "~/.local/state")).expanduser() / "shoal"
    )
    return Path(base) / f"domain{os.environ.get('ROS_DOMAIN_ID', '0')}" / Path(fleet).stem


class StopEndpoints:
    """Topics and service of one holder. `changed` is called after each change of the latch.

    * `/fleet/stop` (Bool, volatile): true stops, from whomever; `ros2 topic pub --once` will do.
    * `/fleet/release` (UInt64): the counter of the STOP to be released.
    * `/fleet/stop_state` (String, latched): what each holder knows; late comers and the restarted learn it from peers.
    * service `~/stop` (SetBool): true stops; false releases the STOP that this node knows of.
    """

    def __init__(self, node: Node, latch: StopLatch, changed: Callable[[StopState], None]) -> None:
        self._node, self.latch, self._changed = node, latch, changed
        self._state = endpoints.publisher(node, topics.STOP_STATE)
        endpoints.subscription(node, topics.STOP, self._on_stop)
        endpoints.subscription(node, topics.RELEASE, self._on_release)
        endpoints.subscription(node, topics.STOP_STATE, self._on_state)
        node.create_service(SetBool, "~/stop", self._on_service)
        self._publish()
        if latch.stopped:
            node.get_logger().warning(f"still stopped by {latch.state.owner} (STOP {latch.state.counter})")

    def stop(self, owner: str) -> None:
        """STOP, by order of `owner`."""
        self.latch.stop(owner)
        self._announce()

    def release(self, owner: str) -> bool:
        """The end of the STOP that this node knows of."""
        return self._release(self.latch.state.counter, owner)

    def _on_stop(self, message: Bool) -> None:
        if message.data:
            self.stop(topics.STOP.name)
        else:
            self._node.get_logger().warning(
                f"{topics.STOP.name} = false is ignored; expected true, or a release with its counter on "
                f"{topics.RELEASE.name}"
            )

    def _on_release(self, message: UInt64) -> None:
        self._release(int(message.data), topics.RELEASE.name)

    def _on_state(self, message: String) -> None:
        try:
            state = StopState.from_json(message.data)
        except ShoalError as error:
            self._node.get_logger().error(f"{topics.STOP_STATE.name}: {error}", throttle_duration_sec=2.0)
            return
        if self.latch.learn(state):
            self._announce()

    def _on_service(self, request: Any, response: Any) -> Any:
        if request.data:
            self.stop(f"service of {self._node.get_name()}")
            response.success, response.message = True, f"STOP {self.latch.state.counter}"
        else:
            counter = self.latch.state.counter
            response.success = self._release(counter, f"service of {self._node.get_name()}")
            response.message = f"STOP {counter} released" if response.success else "not stopped"
        return response

    def _release(self, counter: int, owner: str) -> bool:
        if self.latch.release(counter, owner):
            self._announce()
            return True
        state = self.latch.state
        known = f"STOP {state.counter} holds" if state.stopped else "there is no STOP"
        self._node.get_logger().warning(f"release of STOP {counter} by {owner} is ignored: {known}")
        return False

    def _announce(self) -> None:
        state = self.latch.state
        what = f"STOP {state.counter} by {state.owner}" if state.stopped else f"STOP released by {state.owner}"
        self._node.get_logger().warning(what)
        self._publish()
        self._changed(state)

    def _publish(self) -> None:
        """With our name: whoever watches the fleet wants to know who is still stopped."""
        text = json.dumps({**asdict(self.latch.state), "holder": self._node.get_fully_qualified_name()})
        self._state.publish(String(data=text))
