"""`shoal teleop` and a fleet, all as real processes: it finds the fleet and drives it, or says that none is there."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")

from shoal.messages import topics
from shoal_ros import convert
from shoal_ros.harness import Harness
from shoal_ros.local_fleets import running_domains
from shoal_ros.node_list import fleet_nodes
from shoal_ros.reach import PROFILE_VARIABLES

pytestmark = [pytest.mark.ros, pytest.mark.slow]
CHOSEN = ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", *PROFILE_VARIABLES)
TELEOP = [sys.executable, "-m", "shoal.cli", "teleop"]


def cleared() -> dict[str, str]:
    """No domain and no reach chosen: as in a terminal of its own."""
    return {k: v for k, v in os.environ.items() if k not in CHOSEN}


def test_the_keyboard_drives_the_fleet_that_it_finds() -> None:
    """The harness has claimed a domain as `shoal up` does; plant, controller and guidance are its nodes."""
    with Harness() as fleet:
        odometry, modes = fleet.listen(topics.ODOMETRY, vehicle="rov1"), fleet.listen(topics.MODE)
        fleet.start(*fleet_nodes("one", display=False))
        fleet.spin(lambda: odometry and modes and modes[-1].data == "hold", "the fleet", 120.0)

        def place() -> np.ndarray:
            return convert.odometry_from_message(odometry[-1]).position_m

        begun = place()
        # Where another fleet runs on this machine, ours has to be named.
        named = [] if running_domains() == [fleet.domain.number] else ["--domain", str(fleet.domain.number)]
        ours, theirs = pty.openpty()
        keyboard = subprocess.Popen(
            [*TELEOP, "keyboard", *named], stdin=theirs, stdout=theirs, stderr=theirs, env=cleared()
        )

        def press_until_east() -> bool:
            os.write(ours, b"d")
            return bool(place()[1] - begun[1] > 0.4)

        try:
            fleet.spin(press_until_east, "the vehicle to swim east", 180.0)
            assert modes[-1].data == "manual"
            assert abs(place()[0] - begun[0]) < 0.3  # east, and not north
            os.write(ours, b"x")
            assert keyboard.wait(20) == 0
            said = os.read(ours, 65536).decode()
            assert f"ROS_DOMAIN_ID={fleet.domain.number} (a fleet of `shoal up` runs there)" in said
        finally:
            keyboard.kill()
            keyboard.wait()
            os.close(ours)
            os.close(theirs)


@pytest.mark.skipif(bool(running_domains()), reason="another fleet runs on this machine, and would be found")
def test_without_a_fleet_it_says_so() -> None:
    process = subprocess.Popen(
        [*TELEOP, "joystick"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=cleared()
    )
    lines: list[str] = []
    try:
        assert process.stdout is not None
        while not any("nobody listens on /fleet/cmd_vel in ROS_DOMAIN_ID=0" in line for line in lines):
            line = process.stdout.readline()
            assert line, lines
            lines.append(line)
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert lines[0] == "ROS_DOMAIN_ID=0; no fleet of `shoal up` runs on this machine\n"
