"""The `mpc` node, one per vehicle: whatever controller the fleet file or the parameter names, the NMPC by default."""

from __future__ import annotations

from shoal.autopilot.autopilot import AutopilotController
from shoal.errors import ShoalError
from shoal_ros import process
from shoal_ros.controller_node import ControllerNode


class MpcNode(ControllerNode):
    """Without a pilot's topics: those belong to the node `autopilot`."""

    def __init__(self) -> None:
        super().__init__("mpc")

    def _open_more(self) -> None:
        if isinstance(self.runtime.agent.controller, AutopilotController):
            raise ShoalError("controller = 'autopilot': this node has no pilot's topics; expected shoal_autopilot's")


def main() -> None:
    """`ros2 run shoal_mpc mpc`."""
    process.run(MpcNode)


if __name__ == "__main__":
    main()
