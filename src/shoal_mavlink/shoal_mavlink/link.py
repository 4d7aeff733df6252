"""Bytes to and from an autopilot: UDP either way round, or TCP that is opened again when it breaks. Never blocks."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Iterable

from shoal.errors import ShoalError

KINDS = ("udpin", "udpout", "tcp", "tcpin")
AGAIN_S = 1.0  # between two tries to open
KEEP_S = 10.0  # a peer of `udpin` that was silent for longer is no longer sent to
_LARGEST = 65536


class Link:
    """`udpin:ADDRESS:PORT` (we listen), `udpout:` (we speak first), `tcp:` (we connect), `tcpin:` (we accept)."""

    def __init__(self, url: str) -> None:
        self.url = url
        kind, _, rest = url.partition(":")
        host, _, port = rest.rpartition(":")
        if kind not in KINDS or not host or not port.isdigit() or not 0 <= int(port) <= 65535:
            raise ShoalError(f"link = '{url}'; expected udpin:, udpout:, tcp: or tcpin: with ADDRESS:PORT")
        self._kind, self._address = kind, (host, int(port))
        self._server: socket.socket | None = None
        self._socket: socket.socket | None = None
        self._peers: dict[tuple[str, int], float] = {}
        self._tried_s = -AGAIN_S
        if kind in ("udpin", "tcpin"):
            self._listen()
        else:
            self._open()

    @property
    def port(self) -> int:
        """Ours, where we listen."""
        listening = self._server or self._socket
        return int(listening.getsockname()[1]) if listening else self._address[1]

    @property
    def readable(self) -> list[socket.socket]:
        """To wait for with select."""
        return [s for s in (self._server, self._socket) if s is not None]

    def wait(self, timeout_s: float) -> None:
        """Until something came, or that long."""
        select.select(self.readable, [], [], max(0.0, timeout_s))

    def send(self, packets: Iterable[bytes]) -> None:
        """What cannot be sent is lost, as on any wire; the autopilot's silence tells."""
        now_s = time.monotonic()
        self._open()
        if self._socket is None:
            return
        peers = self._peers if self._kind == "udpin" else {self._address: now_s} if self._kind == "udpout" else {}
        for packet in packets:
            with contextlib.suppress(BlockingIOError):
                try:
                    if not self._kind.startswith("udp"):
                        self._socket.sendall(packet)
                    for peer, heard_s in list(peers.items()):
                        if now_s - heard_s < KEEP_S:
                            with contextlib.suppress(ConnectionError):
                                self._socket.sendto(packet, peer)
                except OSError:
                    self._broken()
                    return

    def receive(self) -> list[bytes]:
        """All that has come."""
        self._open()
        found: list[bytes] = []
        while self._socket is not None:
            try:
                data, peer = self._socket.recvfrom(_LARGEST)
            except BlockingIOError:
                break
            except ConnectionError:
                if self._kind.startswith("udp"):  # nobody listens there yet
                    break
                self._broken()
                break
            except OSError:
                self._broken()
                break
            if not data:
                if not self._kind.startswith("udp"):
                    self._broken()
                break
            if self._kind == "udpin":
                self._peers[peer] = time.monotonic()
            found.append(data)
        return found

    def close(self) -> None:
        """For good."""
        for one in self.readable:
            one.close()
        self._socket = self._server = None
        self._tried_s = float("inf")

    def _listen(self) -> None:
        stream = self._kind == "tcpin"
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM)
        made.setblocking(False)
        try:
            if stream:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(self._address)
            if stream:
                made.listen(1)
        except OSError as error:
            made.close()
            raise ShoalError(f"link = '{self.url}': {error.strerror}; expected a free address") from None
        if stream:
            self._server = made
        else:
            self._socket = made

    def _open(self) -> None:
        if self._server is not None:
            with contextlib.suppress(OSError):
                newcomer, _ = self._server.accept()
                newcomer.setblocking(False)
                if self._socket is not None:
                    self._socket.close()
                self._socket = newcomer
        if self._socket is not None or self._kind not in ("udpout", "tcp"):
            return
        now_s = time.monotonic()
        if now_s - self._tried_s < AGAIN_S:
            return
        self._tried_s = now_s
        with contextlib.suppress(OSError):
            if self._kind == "udpout":
                self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            else:
                self._socket = socket.create_connection(self._address, timeout=0.05)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setblocking(False)

    def _broken(self) -> None:
        if self._socket is not None and self._kind != "udpin":
            self._socket.close()
            self._socket = None
