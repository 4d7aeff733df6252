"""The WebSocket endpoint: a real server and a real client on loopback, without ROS."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("tornado")

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from shoal.errors import ShoalError
from shoal_autopilot.web_server import MOST_CONNECTIONS, PilotServer, WebSettings

TOKEN = "correct horse battery"


class Endpoint:
    """A server and what it passed on."""

    def __init__(self, **settings: Any) -> None:
        self.sent: list[str] = []
        self.gone = 0
        self.server = PilotServer(WebSettings("rov", port=0, **settings), self.sent.append, self._leave)
        self.at = f"127.0.0.1:{self.server.port}"

    def _leave(self) -> None:
        self.gone += 1

    def until(self, true: Callable[[], object]) -> None:
        end = time.monotonic() + 10.0
        while not true():
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint(timeout_s=0.3)
    yield made
    made.server.close()


def test_messages_pass_and_nonsense_is_answered_in_a_sentence(endpoint: Endpoint) -> None:
    good = json.dumps({"sticks": {"surge": 0.3}, "preset": "depth_hold"})

    async def pilot() -> list[Any]:
        link = await websocket_connect(f"ws://{endpoint.at}/pilot")
        await link.write_message(good)
        await link.write_message('{"sticks": {"surge": 3}}')
        answers = [json.loads(str(await link.read_message()))]
        endpoint.server.show_levels('{"preset": "depth_hold"}')
        answers.append(json.loads(str(await link.read_message())))
        link.close()
        return answers

    error, levels = asyncio.run(pilot())
    assert "surge = 3" in error["error"] and levels == {"levels": {"preset": "depth_hold"}}
    assert endpoint.sent == [good], "nonsense is not passed on"
    endpoint.until(lambda: endpoint.gone == 1)


def test_one_front_end_steers_until_it_is_silent(endpoint: Endpoint) -> None:
    async def two() -> None:
        first, second = [await websocket_connect(f"ws://{endpoint.at}/pilot") for _ in range(2)]
        await first.write_message('{"sticks": {"yaw": 0.1}}')
        await asyncio.sleep(0.05)
        await second.write_message('{"sticks": {"yaw": 0.2}}')
        assert "somebody else" in str(await second.read_message())
        await asyncio.sleep(0.35)
        await second.write_message('{"sticks": {"yaw": 0.3}}')
        await asyncio.sleep(0.05)

    asyncio.run(two())
    assert [json.loads(text)["sticks"]["yaw"] for text in endpoint.sent] == [0.1, 0.3]


def test_the_page_shows_how_to_connect(endpoint: Endpoint) -> None:
    async def page() -> str:
        return (await AsyncHTTPClient().fetch(f"http://{endpoint.at}/")).body.decode()

    text = asyncio.run(page())
    assert "rov" in text and "/pilot" in text and "setpoints" in text and "{{" not in text


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Host": "evil.example:8765", "Origin": "http://evil.example:8765"}]
)
def test_pages_of_other_sites_cannot_steer(endpoint: Endpoint, headers: dict[str, str]) -> None:
    """A browser lets any page open a socket to this machine: by its Origin, or by a name it made point here."""

    async def attack() -> None:
        await websocket_connect(HTTPRequest(f"ws://{endpoint.at}/pilot", headers=headers))

    with pytest.raises(HTTPClientError) as refused:
        asyncio.run(attack())
    assert refused.value.code == 403


def test_a_token_is_asked_for_when_there_is_one() -> None:
    made = Endpoint(token=TOKEN)

    async def connect(url: str, headers: dict[str, str]) -> None:
        (await websocket_connect(HTTPRequest(f"ws://{made.at}/pilot{url}", headers=headers))).close()

    try:
        for url, headers in (("", {}), ("?token=wrong", {}), ("", {"Authorization": "Bearer wrong"})):
            with pytest.raises(HTTPClientError) as refused:
                asyncio.run(connect(url, headers))
            assert refused.value.code == 401
        asyncio.run(connect("?token=correct+horse+battery", {}))
        asyncio.run(connect("", {"Authorization": f"Bearer {TOKEN}"}))
    finally:
        made.server.close()


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"address": "0.0.0.0"}, "token"), ({"address": "192.168.2.1"}, "token"), ({"address": "here"}, "IP address"),
     ({"token": "short"}, "at least 16")],
)  # fmt: skip
def test_nothing_is_opened_to_a_network_without_a_token(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ShoalError, match=word):
        Endpoint(**settings)


HOSTILE = [
    b"\xff\xfe\x00", b"", "{", "[" * 3000, '{"sticks":' * 300, "null", "1e999", '{"sticks": {"surge": 1e999}}',
    '{"sticks": {"surge": %s}}' % ("9" * 3000), '{"sticks": {"surge": "0.1"}}', '{"sticks": {"surge": null}}',
    '{"setpoints": {"yaw_deg": -Infinity}}', '{"levels": {"yaw": [[]]}}', '{"preset": {"a": 1}}', "\ud800 \u0000",
    '{"preset": "fleet; stop"}', '{"__class__": 1}', '{"sticks": {"surge": 0.1}} {"sticks": {"surge": 0.2}}',
]  # fmt: skip


def test_hostile_messages_change_nothing_and_end_nobody(endpoint: Endpoint) -> None:
    """Each is answered with a sentence; afterwards the same link steers."""

    async def attack() -> list[str]:
        link = await websocket_connect(f"ws://{endpoint.at}/pilot")
        answers = []
        for message in HOSTILE:
            data = message if isinstance(message, bytes) else message.encode("utf-8", "replace")
            await link.write_message(data, binary=isinstance(message, bytes))
            answers.append(json.loads(str(await link.read_message()))["error"])
        await link.write_message('{"sticks": {"surge": 0.3}}')
        await asyncio.sleep(0.05)
        link.close()
        return answers

    answers = asyncio.run(attack())
    assert len(answers) == len(HOSTILE) and all("expected" in answer for answer in answers)
    assert endpoint.sent == ['{"sticks": {"surge": 0.3}}']


def test_whoever_sends_too_much_or_reads_nothing_is_put_out_and_the_pilot_goes_on(endpoint: Endpoint) -> None:
    good = '{"sticks": {"yaw": 0.1}}'

    async def attack() -> None:
        pilot = await websocket_connect(f"ws://{endpoint.at}/pilot")
        await pilot.write_message(good)
        long = await websocket_connect(f"ws://{endpoint.at}/pilot")
        await long.write_message(json.dumps({"sticks": {"surge": 0.1}, "preset": "x" * 100_000}))
        assert await long.read_message() is None, "closed"
        key = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
        host = f"GET /pilot HTTP/1.1\r\nHost: {endpoint.at}\r\n".encode()
        reader, deaf = await asyncio.open_connection("127.0.0.1", endpoint.server.port, limit=1024)
        deaf.write(host + key + b"dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        rubbish = b"\x81\xfe" + (3900).to_bytes(2, "big") + b"\0\0\0\0" + b"[" * 3900  # masked by zeros
        for _ in range(200_000):
            deaf.write(rubbish)
            if deaf.transport.is_closing():
                break
            await asyncio.wait({asyncio.ensure_future(deaf.drain())}, timeout=5.0)
            if len(endpoint.server._clients) < 2:
                break
        assert len(endpoint.server._clients) == 1
        await pilot.write_message(good)
        await asyncio.sleep(0.05)
        deaf.close()

    asyncio.run(attack())
    assert endpoint.sent == [good, good]


def test_no_more_than_so_many_at_once(endpoint: Endpoint) -> None:
    async def crowd() -> None:
        links = [await websocket_connect(f"ws://{endpoint.at}/pilot") for _ in range(MOST_CONNECTIONS)]
        one_more = await websocket_connect(f"ws://{endpoint.at}/pilot")
        assert await one_more.read_message() is None and one_more.close_code == 1013
        await links[0].write_message('{"sticks": {"yaw": 0.1}}')
        await asyncio.sleep(0.05)

    asyncio.run(crowd())
    assert len(endpoint.sent) == 1


def test_a_taken_port_is_named(endpoint: Endpoint) -> None:
    with pytest.raises(ShoalError, match=f"{endpoint.server.port}.*expected a free"):
        PilotServer(WebSettings("rov", port=endpoint.server.port), print, lambda: None)
