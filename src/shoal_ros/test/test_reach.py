"""Which sockets our processes open, and what they say where keys cannot be used. Fast DDS and the kernel are real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytest.importorskip("rclpy")

from shoal.errors import ShoalError
from shoal_ros.harness import Harness
from shoal_ros.local_fleets import choose_domain
from shoal_ros.node_list import NodeSpec, fleet_nodes
from shoal_ros.reach import LOOPBACK_PROFILE, PROFILE_VARIABLES, check_keystore, describe_reach, reach_environment

WALL_S = 90.0
NODE = """
import rclpy, time
from rclpy.node import Node
rclpy.init()
node = Node("probe")
print("up", flush=True)
time.sleep(600)
"""


def sockets(process: psutil.Process) -> set[str]:
    """Local addresses of all UDP and TCP sockets (those of psutil are from /proc/net)."""
    return {c.laddr.ip for c in process.net_connections("inet") if c.laddr}


def bound(environment: dict[str, str]) -> set[str]:
    """By one node."""
    clean = {k: v for k, v in os.environ.items() if k not in PROFILE_VARIABLES}
    child = subprocess.Popen(
        [sys.executable, "-c", NODE], env={**clean, **environment}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None and child.stdout.readline().strip() == "up"
        return sockets(psutil.Process(child.pid))
    finally:
        child.kill()
        child.wait()


@pytest.mark.ros
def test_one_node_is_bound_to_loopback_alone_and_open_only_on_request() -> None:
    assert bound({"ROS_DOMAIN_ID": "99", **reach_environment(now={})}) == {"127.0.0.1"}
    opened = bound({"ROS_DOMAIN_ID": "99", **reach_environment(network=True, now={})})
    assert "0.0.0.0" in opened  # so the first line can fail


@pytest.mark.ros
@pytest.mark.slow
def test_shoal_up_binds_nothing_outside_loopback() -> None:
    clean = {
        k: v for k, v in os.environ.items() if k not in (*PROFILE_VARIABLES, "ROS_DOMAIN_ID", "RMW_IMPLEMENTATION")
    }
    words = [sys.executable, "-m", "shoal.cli", "up", "one", "--path", "circle", "--display"]
    run = subprocess.Popen(words, env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert run.stdout is not None
        lines: list[str] = []
        while not any("running" in line for line in lines):
            line = run.stdout.readline()
            assert line, "\n".join(lines)
            lines.append(line)
        assert "on this machine only" in lines[0]
        nodes = [p for p in psutil.Process(run.pid).children(recursive=True) if "--ros-args" in p.cmdline()]
        assert len(nodes) == 4
        for process in (*nodes, psutil.Process(run.pid)):
            assert sockets(process) <= {"127.0.0.1"}, (process.cmdline(), sockets(process))
        assert all(sockets(process) for process in nodes)
    finally:
        run.terminate()
        run.wait(WALL_S)


@pytest.mark.ros
def test_missing_security_plugin_is_one_sentence_and_no_second_try(tmp_path: Path) -> None:
    """Where Fast DDS has the plugins the keys, which are empty files, are refused in the same way."""
    enclave = tmp_path / "enclaves/display"
    enclave.mkdir(parents=True)
    for name in ("identity_ca.cert", "cert", "key", "permissions_ca.cert"):
        (enclave / f"{name}.pem").touch()
    for name in ("governance", "permissions"):
        (enclave / f"{name}.p7s").touch()
    with Harness() as fleet:
        (spec,) = [s for s in fleet_nodes("one") if s.executable == "display"]
        fleet._environment |= reach_environment(keystore=tmp_path)
        fleet.start(spec.secured())
        child = fleet.children[spec.full_name]
        fleet.spin(lambda: not child.running, "the end", WALL_S)
        child.wait(5.0)
        assert child.code == 2  # the supervisor does not try again
        said = [line for line in child.lines if line.startswith("[ERROR]")]
        assert len(said) == 1 and ("security plugins" in said[0] or "key store" in said[0])
        assert not any("Traceback" in line for line in child.lines)


def test_variables() -> None:
    closed = reach_environment(now={})
    assert {closed[name] for name in PROFILE_VARIABLES} == {str(LOOPBACK_PROFILE)}
    assert closed == reach_environment(now=closed)  # what we set ourselves is not the user's
    own = {"FASTRTPS_DEFAULT_PROFILES_FILE": "/etc/mine.xml"}
    assert reach_environment(now=own) == {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    assert "/etc/mine.xml" in describe_reach(now=own)
    other = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}
    assert reach_environment(now=other) == {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    assert "rmw_cyclonedds_cpp listens on all interfaces" in describe_reach(now=other)
    assert describe_reach(now={"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp"}) == "on this machine only"


def test_station_and_teleop_take_the_same_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROFILE_VARIABLES, "ROS_AUTOMATIC_DISCOVERY_RANGE", "RMW_IMPLEMENTATION"):
        monkeypatch.setenv(name, "")  # so that monkeypatch puts back whatever becomes of them
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    assert choose_domain(8) == 8 and os.environ["ROS_DOMAIN_ID"] == "8"
    assert os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SYSTEM_DEFAULT"
    choose_domain(None, network=True)
    assert os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET"
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
    choose_domain(None)
    assert os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "OFF"  # the user's own choice


def test_a_key_store_lacks_enclaves(tmp_path: Path) -> None:
    node = NodeSpec("p", "mpc", "mpc", "/rov1")
    with pytest.raises(ShoalError, match="no folder 'enclaves'"):
        check_keystore(tmp_path, [node])
    (tmp_path / "enclaves/rov1").mkdir(parents=True)
    with pytest.raises(ShoalError, match=r"no enclave for /rov1/mpc.*create_enclave"):
        check_keystore(tmp_path, [node])
    (tmp_path / "enclaves/rov1/mpc").mkdir()
    check_keystore(tmp_path, [node])
