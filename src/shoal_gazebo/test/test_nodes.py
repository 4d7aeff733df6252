"""The two nodes as real processes over real DDS, kept to this machine and to a domain of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402

from shoal_gazebo.bridge import thrust_topic  # noqa: E402
from shoal_ros.domain import claim_domain  # noqa: E402

pytestmark = pytest.mark.ros


class Listener:
    """A node of the test's own, spun by hand."""

    def __init__(self) -> None:
        self.domain = claim_domain()
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=self.domain.number)
        self.node = rclpy.create_node("listener", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def until(self, condition: Callable[[], bool], limit_s: float = 10.0) -> bool:
        end = time.monotonic() + limit_s
        while not condition() and time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)
        return condition()

    def during(self, seconds: float) -> None:
        self.until(lambda: False, seconds)

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)
        self.domain.close()


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    found = Listener()
    yield found
    found.close()


@pytest.fixture
def start(listener: Listener) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def run(module: str, **parameters: object) -> subprocess.Popen[bytes]:
        arguments = [text for key, value in parameters.items() for text in ("-p", f"{key}:={value}")]
        environment = {**os.environ, **listener.domain.environment()}
        command = [sys.executable, "-m", f"shoal_gazebo.{module}", "--ros-args", *arguments]
        started.append(subprocess.Popen(command, env=environment, cwd=Path(__file__).parent))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(5)


def clock(seconds: float) -> Clock:
    message = Clock()
    message.clock.sec, message.clock.nanosec = int(seconds), round(seconds % 1 * 1e9)
    return message


def test_a_silent_controller_s_thrusters_are_stopped(listener: Listener, start: Callable[..., Any]) -> None:
    watchdog = start("thrust_watchdog", fleet="one", timeout_s=0.6)
    topic = thrust_topic("bluerov2", "thruster3")
    heard: list[float] = []
    levels: list[bytes] = []
    listener.node.create_subscription(Float64, topic, lambda m: heard.append(m.data), 10)
    listener.node.create_subscription(
        DiagnosticArray, "/diagnostics", lambda m: levels.append(max(s.level for s in m.status)), 10
    )
    controller = listener.node.create_publisher(Float64, topic, 10)
    assert listener.until(lambda: controller.get_subscription_count() >= 2 and bool(levels), 20)

    for _ in range(20):  # a living controller is left alone
        controller.publish(Float64(data=4.0))
        listener.during(0.05)
    assert set(heard) == {4.0}

    silent_since = time.monotonic()
    assert listener.until(lambda: heard[-1] == 0.0, 3)
    assert 0.4 < time.monotonic() - silent_since < 2.0
    assert listener.until(lambda: DiagnosticStatus.ERROR in levels, 2)
    listener.during(0.5)
    zeros = heard.count(0.0)
    listener.during(0.7)
    assert heard.count(0.0) == zeros, "the watchdog's own zeros must not keep it going"

    controller.publish(Float64(data=2.0))  # it is back, and the watchdog's end leaves nothing running
    assert listener.until(lambda: heard[-1] == 2.0, 2)
    watchdog.send_signal(signal.SIGINT)
    assert listener.until(lambda: heard[-1] == 0.0, 2)
    assert watchdog.wait(5) == 0


def test_a_clock_that_stands_still_does_not_stop_the_watchdog(listener: Listener, start: Callable[..., Any]) -> None:
    start("thrust_watchdog", fleet="one", timeout_s=0.3, wall_timeout_s=1.5, use_sim_time=True)
    topic = thrust_topic("bluerov2", "thruster1")
    heard: list[float] = []
    listener.node.create_subscription(Float64, topic, lambda m: heard.append(m.data), 10)
    controller = listener.node.create_publisher(Float64, topic, 10)
    ticking = listener.node.create_publisher(Clock, "/clock", 1)
    assert listener.until(
        lambda: controller.get_subscription_count() >= 2 and ticking.get_subscription_count() >= 1, 20
    )
    for _ in range(25):
        ticking.publish(clock(7.0))
        listener.during(0.02)
    sent = time.monotonic()
    controller.publish(Float64(data=-3.0))
    assert listener.until(lambda: heard == [-3.0], 5)
    assert listener.until(lambda: heard[-1] == 0.0, 5)
    assert time.monotonic() - sent > 1.2, "by the standing simulation clock nothing was late"


def test_the_relay_hands_on_the_newest_ticks_at_its_own_rate(listener: Listener, start: Callable[..., Any]) -> None:
    start("clock_relay", max_rate_hz=50.0)
    received: list[float] = []
    listener.node.create_subscription(
        Clock, "/clock", lambda m: received.append(m.clock.sec + m.clock.nanosec * 1e-9), 50
    )
    source = listener.node.create_publisher(Clock, "/gazebo/clock", 10)
    assert listener.until(lambda: source.get_subscription_count() == 1, 20)
    assert listener.until(lambda: listener.node.count_publishers("/clock") == 1, 10)
    listener.during(0.2)
    started = time.monotonic()
    sent = [round(3.0 + k * 0.001, 3) for k in range(500)]
    for tick in sent:
        source.publish(clock(tick))
        listener.during(0.001)
    took = time.monotonic() - started
    assert listener.until(lambda: bool(received) and round(received[-1], 3) == sent[-1], 2), "the last tick arrives"
    assert {round(t, 3) for t in received} <= set(sent)
    assert received == sorted(received)
    assert 0.2 * 50 * took <= len(received) <= 50 * took + 2
