"""The `pilot_web` node: a WebSocket for a pilot's front end (Ng 2024's unity_to_ros). The server is `web_server`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from shoal.errors import ShoalError
from shoal.messages import topics
from shoal_autopilot.pilot_publisher import CENTRED, PilotPublisher
from shoal_autopilot.web_server import PilotServer, WebSettings
from shoal_ros import endpoints, process
from shoal_ros.parameters import declare


class PilotWeb(Node):
    """On this machine only, unless given an address and a file with a token."""

    def __init__(self, **options: Any) -> None:
        super().__init__("pilot_web", **options)
        address = declare(self, "address", "127.0.0.1", "to listen on; other than this machine's own: with a token")
        port = declare(self, "port", 8765, "TCP port; 0: any free one", low=0, high=65535)
        file = declare(self, "token_file", "", "file whose first line every front end has to send; empty: none")
        timeout_s = declare(self, "timeout_s", 0.5, "s of silence, then another may steer", low=0.1, high=5.0)
        self._pilot = PilotPublisher(self)
        settings = WebSettings(self._pilot.vehicle, address, port, _token(file), timeout_s)
        # rclpy's publishers may be used from another thread.
        self._server = PilotServer(settings, self._pilot.send, lambda: self._pilot.send(CENTRED))
        endpoints.subscription(self, topics.LEVELS, self._on_levels, vehicle=self._pilot.vehicle)
        self.get_logger().info(f"{self._pilot.vehicle}: how to connect: http://{address}:{self._server.port}/")

    def _on_levels(self, message: String) -> None:
        self._server.show_levels(message.data)

    def close(self) -> None:
        """Let go."""
        self._server.close()
        self._pilot.last()


def _token(file: str) -> str:
    if not file:
        return ""
    try:
        lines = Path(file).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ShoalError(f"token_file = '{file}': {error}; expected a file with a token in its first line") from None
    if not lines or not lines[0].strip():
        raise ShoalError(f"token_file = '{file}' is empty; expected a token in its first line")
    return lines[0].strip()


def main() -> None:
    """`ros2 run shoal_autopilot pilot_web`."""
    process.run(PilotWeb)


if __name__ == "__main__":
    main()
