"""The fleet's own nodes with a stand-in for Gazebo behind the topics: clock relay, watchdog, controller, guidance."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
from geometry_msgs.msg import PoseStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402

from shoal_gazebo.bridge import thrust_topic  # noqa: E402
from shoal_gazebo.bringup import prepare  # noqa: E402
from shoal_gazebo.nodes import gazebo_nodes, swimming_nodes  # noqa: E402
from shoal_ros.domain import claim_domain  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]
HERE = Path(__file__).parent


class Sea:
    """Processes in a domain of their own, and what is heard of them."""

    def __init__(self, folder: Path) -> None:
        self.domain = claim_domain()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.folder = folder
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=self.domain.number)
        self.node = rclpy.create_node("observer", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.heard: dict[str, Any] = {}

    def start(self, name: str, command: list[str]) -> None:
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        environment = {**os.environ, **self.domain.environment(), **one_thread}
        self.processes[name] = subprocess.Popen(command, env=environment)

    def listen(self, kind: Any, topic: str) -> None:
        self.node.create_subscription(kind, topic, lambda m: self.heard.__setitem__(topic, m), qos_profile_sensor_data)

    def until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        end = time.monotonic() + limit_s
        while not condition() and time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.1)
        return condition()

    def sim_s(self) -> float:
        message = self.heard.get("/bluerov2/odometry")
        return 0.0 if message is None else message.header.stamp.sec + message.header.stamp.nanosec * 1e-9

    def close(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)
        self.domain.close()


@pytest.fixture
def sea(tmp_path: Path) -> Iterator[Sea]:
    made = Sea(tmp_path)
    yield made
    made.close()


def place(pose: Any) -> np.ndarray:
    return np.array([pose.position.x, pose.position.y, pose.position.z])


def test_the_controller_swims_the_circle_and_its_end_stops_the_thrusters(sea: Sea) -> None:
    ready = prepare("one", "tank", sea.folder, camera=False)
    for topic, kind in {"/bluerov2/odometry": Odometry, "/fleet/setpoint": PoseStamped}.items():
        sea.listen(kind, topic)
    thrusters = [thrust_topic("bluerov2", f"thruster{i}") for i in range(1, 9)]
    for topic in thrusters:
        sea.listen(Float64, topic)
    sea.start("gazebo", [sys.executable, str(HERE / "stand_in_gazebo.py"), "one", "tank", str(sea.folder)])
    beside = [spec for spec in gazebo_nodes(ready) if spec.package != "ros_gz_bridge"]
    for spec in [*beside, *swimming_nodes(ready, path="circle", display=False, ready_s=1.0)]:
        sea.start(spec.name, spec.command())

    assert sea.until(lambda: sea.sim_s() > 5 and "/fleet/setpoint" in sea.heard, 120)
    begun = place(sea.heard["/fleet/setpoint"].pose)
    follow_until = sea.sim_s() + 12
    assert sea.until(lambda: sea.sim_s() > follow_until, 120)
    setpoint = place(sea.heard["/fleet/setpoint"].pose)
    assert np.linalg.norm(setpoint - begun) > 1, "the setpoint moves on"
    assert np.linalg.norm(setpoint - place(sea.heard["/bluerov2/odometry"].pose.pose)) < 0.6
    assert any(sea.heard[topic].data != 0 for topic in thrusters)

    sea.processes["mpc"].kill()  # no last words
    assert sea.until(lambda: all(sea.heard[topic].data == 0 for topic in thrusters), 20)
