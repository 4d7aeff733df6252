"""Teleop as real processes: joystick messages in, setpoint velocity out; a keyboard on a pseudo terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
from ros_bench import Bench, bench
from sensor_msgs.msg import Joy

from shoal.messages import topics
from shoal_ros.local_fleets import running_domains
from shoal_ros.node_list import NodeSpec
from shoal_ros.reach import PROFILE_VARIABLES

pytestmark = pytest.mark.ros
REST = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def b() -> Iterator[Bench]:
    with bench() as made:
        yield made


def test_joystick_moves_and_the_dead_man_stops(b: Bench) -> None:
    child = b.run("shoal_teleop", "teleop", layout="xbox", timeout_s=2.0)  # a busy machine is not a silent pad
    received, modes, joy = b.listen(topics.CMD_VEL), b.listen(topics.SET_MODE), b.talk(topics.JOY)

    def pad(north: float, held: bool, hold: bool = False) -> None:
        joy.publish(Joy(axes=[REST[0], north, *REST[2:]], buttons=[0, int(hold), 0, 0, int(held), 0]))

    b.until(lambda: received and received[-1].twist.linear.y > 0.3, "a velocity north", lambda: pad(1.0, True))
    assert received[-1].header.frame_id == "map"
    pad(1.0, False)
    b.until(lambda: received[-1].twist.linear.y == 0.0, "zero after the release")
    count = len(received)
    for _ in range(10):
        pad(1.0, False)
        b.linger(0.02)
    assert len(received) == count  # zero once, then silence

    b.until(lambda: received[-1].twist.linear.y > 0.3, "a velocity north", lambda: pad(1.0, True))
    b.until(lambda: received[-1].twist.linear.y == 0.0, "zero after the pad fell silent")  # nothing is published here
    count = len(received)
    b.linger(0.2)
    assert len(received) == count

    b.until(lambda: [m.data for m in modes] == ["hold"], "mode hold", lambda: pad(0.0, False, hold=True))
    assert b.refusal("/teleop", layout="no_such_pad") and not b.refusal("/teleop", layout="playstation")
    b.until(lambda: received[-1].twist.linear.y > 0.3, "a velocity north", lambda: pad(1.0, True))
    child.end()
    b.until(lambda: received[-1].twist.linear.y == 0.0, "a last zero")
    assert child.code == 0


def test_joystick_driver_waits_for_a_pad(b: Bench) -> None:
    child = b.run("shoal_teleop", "joystick")
    b.until(lambda: any("waiting" in line or "pad:" in line for line in child.lines), "the driver's first line")
    child.end()
    assert child.code == 0


def test_keyboard_in_a_terminal(b: Bench) -> None:
    ours, theirs = pty.openpty()
    command = NodeSpec("shoal_teleop", "keyboard", "keyboard").command()
    received = b.listen(topics.CMD_VEL)
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **b.domain.environment()}
    )
    try:
        b.until(lambda: b.node.count_publishers(topics.CMD_VEL.name) > 0, "the keyboard")
        b.until(
            lambda: received and received[-1].twist.linear.y > 0.1,
            "a velocity north",
            lambda: os.write(ours, b"w") and None,
        )
        b.until(lambda: received[-1].twist.linear.y == 0.0, "zero after the key was let go of")
        os.write(ours, b"d")
        b.until(lambda: received[-1].twist.linear.x > 0.1, "a velocity east")
        os.write(ours, b"x")
        assert process.wait(20) == 0
        b.until(lambda: received[-1].twist.linear.x == 0.0, "a last zero")
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def test_keyboard_without_a_terminal_says_so(b: Bench) -> None:
    command = NodeSpec("shoal_teleop", "keyboard", "keyboard").command()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "no terminal" in done.stderr


def cleared(**more: str) -> dict[str, str]:
    """No domain and no reach chosen: as in a terminal of its own."""
    chosen = ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", *PROFILE_VARIABLES)
    return {k: v for k, v in os.environ.items() if k not in chosen} | more


def test_shoal_teleop_finds_the_fleet_and_drives_it(b: Bench) -> None:
    """The bench has claimed a domain as `shoal up` does, and listens as guidance does."""
    ours, theirs = pty.openpty()
    received = b.listen(topics.CMD_VEL)
    words = [sys.executable, "-m", "shoal.cli", "teleop", "keyboard"]
    if running_domains() != [b.domain.number]:  # another fleet runs on this machine: then it must be named
        words += ["--domain", str(b.domain.number)]
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=cleared())
    try:
        wanted = lambda: received and received[-1].twist.linear.y > 0.1  # noqa: E731
        b.until(wanted, "a velocity north", lambda: os.write(ours, b"w") and None)
        os.write(ours, b"x")
        assert process.wait(20) == 0
        said = os.read(ours, 65536).decode()
        assert f"ROS_DOMAIN_ID={b.domain.number}" in said and "the fleet listens" in said
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def test_shoal_teleop_says_when_nobody_listens_and_alsa_is_silent() -> None:
    words = [sys.executable, "-m", "shoal.cli", "teleop", "joystick", "--domain", "98"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=cleared())
    lines: list[str] = []
    try:
        assert process.stdout is not None
        while not any("nobody listens on /fleet/cmd_vel in ROS_DOMAIN_ID=98" in line for line in lines):
            line = process.stdout.readline()
            assert line, lines
            lines.append(line)
    finally:
        process.terminate()
        lines += process.communicate(timeout=30)[0].splitlines()
    assert "ALSA" not in "".join(lines)
