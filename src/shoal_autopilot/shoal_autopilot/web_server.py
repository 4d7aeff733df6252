"""A WebSocket for a pilot's front end, such as a headset, and the page that shows how to connect. No ROS.

Messages are those of `shoal.messages.pilot`; what makes no sense is answered in one sentence and not passed on. One
front end steers at a time: another one takes over only after the first has been silent or is gone.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamBufferFullError
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from shoal.errors import ShoalError
from shoal.messages.pilot import LONGEST_TEXT, pilot_from_json

PAGE = Path(__file__).with_name("pilot.html")
PATH = "/pilot"
SHORTEST_TOKEN = 16
MOST_CONNECTIONS = 8
MOST_UNREAD = 65536  # bytes of answers to one that does not read them
HEADERS_S = 10.0  # for a request to be made
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class WebSettings:
    """Where it listens, and whom it trusts."""

    vehicle: str
    address: str = "127.0.0.1"
    port: int = 8765  # 0: any free one
    token: str = ""  # empty: none is asked for; only on this machine
    timeout_s: float = 0.5  # of silence, after which another front end may steer

    def checked(self) -> WebSettings:
        """A ShoalError says what is wrong."""
        try:
            local = ipaddress.ip_address(self.address).is_loopback
        except ValueError:
            raise ShoalError(f"address = '{self.address}'; expected an IP address such as 127.0.0.1") from None
        if self.token and len(self.token) < SHORTEST_TOKEN:
            raise ShoalError(f"token: {len(self.token)} characters; expected at least {SHORTEST_TOKEN}")
        if not local and not self.token:
            raise ShoalError(f"address = '{self.address}' is open to a network: expected a token_file with a token")
        return self


class PilotServer:
    """Serves in a thread of its own. `send` gets each good message as text; `gone` when its sender is no more."""

    def __init__(self, settings: WebSettings, send: Callable[[str], None], gone: Callable[[], None]) -> None:
        self.settings, self._send, self._gone = settings.checked(), send, gone
        self._clients: set[_Socket] = set()
        self._pilot: _Socket | None = None
        self._heard_s = float("-inf")
        self._levels = ""
        try:
            self._sockets = bind_sockets(settings.port, settings.address)
        except OSError as error:
            where = f"{settings.address}:{settings.port}"
            raise ShoalError(f"port: {where}: {error.strerror}; expected a free address and port") from None
        self.port = int(self._sockets[0].getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        given: dict[str, Any] = {"server": self}
        application = Application(
            [("/", _Page, given), (PATH, _Socket, given)], websocket_max_message_size=LONGEST_TEXT
        )
        self._http = HTTPServer(application, idle_connection_timeout=HEADERS_S, max_header_size=16384, max_body_size=0)
        self._http.add_sockets(self._sockets)
        self._loop.run_forever()

    def show_levels(self, text: str) -> None:
        """What is active, as JSON: to everybody connected, and to whoever comes."""

        def tell() -> None:
            self._levels = text
            for client in list(self._clients):
                client.tell({"levels": json.loads(text)})

        self._loop.call_soon_threadsafe(tell)

    def close(self) -> None:
        """For good."""

        async def end() -> None:
            self._http.stop()
            for client in list(self._clients):
                client.close(1001, "the endpoint ends")
            await asyncio.sleep(0.05)
            self._loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self._loop)
        self._thread.join(2.0)

    # -- in the server's thread ---------------------------------------------------------------------------------

    def refusal(self, handler: RequestHandler) -> str:
        """Why a request is not served; empty: it is."""
        host = handler.request.host.rpartition(":")[0] or handler.request.host
        if not self.settings.token and host not in LOCAL_NAMES:
            return f"Host = {handler.request.host}; expected {' or '.join(LOCAL_NAMES)}"  # not by another site's name
        if self.settings.token and handler.request.path == PATH:
            header = handler.request.headers.get("Authorization", "").removeprefix("Bearer ")
            given = header or handler.get_query_argument("token", "")
            if not hmac.compare_digest(given.encode(), self.settings.token.encode()):
                return "token: missing or wrong; expected it as '?token=…' or as 'Authorization: Bearer …'"
        return ""

    def join(self, client: _Socket) -> bool:
        """Whether there is room."""
        if len(self._clients) >= MOST_CONNECTIONS:
            return False
        self._clients.add(client)
        if self._levels:
            client.tell({"levels": json.loads(self._levels)})
        return True

    def leave(self, client: _Socket) -> None:
        """If this was the pilot, the autopilot learns of it at once."""
        self._clients.discard(client)
        if client is self._pilot:
            self._pilot = None
            self._gone()

    def take(self, client: _Socket, text: str) -> None:
        """A message."""
        now_s = time.monotonic()
        try:
            pilot_from_json(text, now_s)
        except ShoalError as error:
            client.tell({"error": str(error)})
            return
        if self._pilot is not None and client is not self._pilot and now_s - self._heard_s < self.settings.timeout_s:
            client.tell({"error": "pilot: somebody else steers; expected to wait until he is gone"})
            return
        self._pilot, self._heard_s = client, now_s
        self._send(text)


class _Page(RequestHandler):
    def initialize(self, server: PilotServer) -> None:
        self._server = server

    def get(self) -> None:
        if why := self._server.refusal(self):
            self.set_status(403)
            self.finish(why)
            return
        s = self._server.settings
        words = {"VEHICLE": s.vehicle, "PATH": PATH, "TOKEN": "?token=YOUR_TOKEN" if s.token else "",
                 "TIMEOUT": f"{s.timeout_s:g}"}  # fmt: skip
        text = PAGE.read_text(encoding="utf-8")
        for name, value in words.items():
            text = text.replace("{{" + name + "}}", value)
        self.set_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; "
                        "script-src 'unsafe-inline'; connect-src 'self'")  # fmt: skip
        self.finish(text)


class _Socket(WebSocketHandler):
    """Tornado refuses browsers that come from another site's page (Origin): without it any page could steer."""

    def initialize(self, server: PilotServer) -> None:
        self._server = server

    async def get(self, *args: Any, **kwargs: Any) -> None:
        if why := self._server.refusal(self):
            self.set_status(401 if self._server.settings.token else 403)
            self.finish(why)
            return
        await super().get(*args, **kwargs)

    def open(self, *args: str, **kwargs: str) -> None:
        if not self._server.join(self):
            self.close(1013, "too many connections")
        elif self.ws_connection is not None and self.ws_connection.stream is not None:
            self.ws_connection.stream.max_write_buffer_size = MOST_UNREAD

    def on_message(self, message: str | bytes) -> None:
        self._server.take(self, message if isinstance(message, str) else message.decode(errors="replace"))

    def on_close(self) -> None:
        self._server.leave(self)

    def tell(self, answer: dict[str, Any]) -> None:
        if self.ws_connection is None:
            return
        try:
            self.write_message(json.dumps(answer))
        except WebSocketClosedError:
            pass
        except StreamBufferFullError:
            self._server.leave(self)  # at once: one that does not read does not answer a close either
            self.close(1008, "answers are not read")
