"""A pilot's devices as real processes: front end and pad reach the vehicle's topic, and their end leaves it quiet."""

from __future__ import annotations

import asyncio
import json
import re
import threading

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("tornado")

from sensor_msgs.msg import Joy
from tornado.websocket import websocket_connect

from shoal.messages import topics
from shoal_autopilot.nodes import pilot_nodes
from shoal_ros.harness import Harness

pytestmark = pytest.mark.ros
REST, HELD = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0], [0, 0, 0, 0, 1, 0]
AHEAD = [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]


def test_front_end_and_pad_reach_the_vehicle_and_let_go() -> None:
    (web,) = pilot_nodes("web", "one", "rov1", port=0)
    pad = pilot_nodes("pad", "two", "rov2")[0]
    with Harness() as harness:
        heard = {name: harness.listen(topics.PILOT, vehicle=name) for name in ("rov1", "rov2")}
        joy, levels = harness.publisher(topics.JOY), harness.publisher(topics.LEVELS, vehicle="rov1")
        harness.start(web, pad)
        child = harness.children["/rov1/pilot_web"]
        harness.spin(lambda: any("http://" in line for line in child.lines), "the endpoint")
        counted = [topics.PILOT.of(vehicle=name) for name in heard]
        harness.spin(lambda: all(harness.node.count_publishers(name) for name in counted), "both devices")
        harness.spin(lambda: joy.get_subscription_count() and levels.get_subscription_count(), "their subscriptions")
        (port,) = (found[1] for line in child.lines if (found := re.search(r":(\d+)/$", line)))

        heard_it = threading.Event()

        async def steer() -> None:
            link = await websocket_connect(f"ws://127.0.0.1:{port}/pilot")
            while not heard_it.is_set():  # as front ends do: the topic carries the latest only, and may lose one
                await link.write_message('{"sticks": {"yaw": 0.25}}')
                await asyncio.sleep(0.05)
            link.close()

        front_end = threading.Thread(target=lambda: asyncio.run(steer()), daemon=True)
        front_end.start()
        try:
            harness.spin(lambda: len(heard["rov1"]) >= 1, "the front end's message")
        finally:
            heard_it.set()
        harness.spin(lambda: json.loads(heard["rov1"][-1].data) == {"sticks": {}}, "the letting go")
        front_end.join(10.0)
        sent = [json.loads(message.data) for message in heard["rov1"]]
        assert sent[0]["sticks"] == {"yaw": 0.25}

        for axes in (REST, AHEAD):
            before = len(heard["rov2"])
            joy.publish(Joy(axes=axes, buttons=HELD))
            harness.spin(lambda n=before: len(heard["rov2"]) > n, "the pad's message")
        assert json.loads(heard["rov2"][-1].data)["sticks"]["surge"] == 1.0
        quiet = len(heard["rov2"])
        harness.linger(0.5)
        assert len(heard["rov2"]) == quiet, "a pad that was pulled out must look like a pilot who is gone"
