"""The `autopilot` node, one per vehicle: levels of autonomy per axis for one pilot, and the fleet's NMPC on request.

Estimator, gate, fallbacks and STOP are those of every controller node. A handover between pilot, laws and NMPC is a
change of level within one controller (`shoal.autopilot.autopilot`), so thrust goes on without a jump.
"""

from __future__ import annotations

from shoal.autopilot.autopilot import AutopilotController
from shoal.errors import ShoalError
from shoal_autopilot.pilot_endpoints import PilotEndpoints
from shoal_ros import process
from shoal_ros.controller_node import ControllerNode


class AutopilotNode(ControllerNode):
    """The controller node with a pilot's topics."""

    def __init__(self) -> None:
        super().__init__("autopilot", "autopilot")

    def _open_more(self) -> None:
        controller = self.runtime.agent.controller
        if not isinstance(controller, AutopilotController):
            name = self.configuration.file.controller
            raise ShoalError(f"controller = '{name}': expected the autopilot; shoal_mpc's node runs the others")
        self._pilot = PilotEndpoints(self, self.me, controller)

    def _stepped(self) -> None:
        self._pilot.show()

    def _described(self, message: str) -> str:
        """With what is active, so that the operator's station shows it too."""
        return f"{message} [{self._pilot.shown}]"


def main() -> None:
    """`ros2 run shoal_autopilot autopilot`."""
    process.run(AutopilotNode)


if __name__ == "__main__":
    main()
