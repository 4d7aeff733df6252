"""Domains that nobody else has, and environments that keep to this machine."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.errors import ShoalError
from shoal_ros.domain import chosen_domain, claim_domain
from shoal_ros.reach import LOOPBACK_PROFILE


def test_no_two_claims_are_alike_and_closed_ones_come_back() -> None:
    claims = [claim_domain() for _ in range(5)]
    numbers = [claim.number for claim in claims]
    assert len(set(numbers)) == 5 and all(1 <= n <= 101 for n in numbers)
    for claim in claims:
        claim.close()
    again = claim_domain()
    assert again.number == numbers[0]
    again.close()


def test_a_claim_dies_with_its_process_however_it_dies() -> None:
    code = "from shoal_ros.domain import claim_domain; c = claim_domain(); print(c.number, flush=True); input()"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    number = int(process.stdout.readline())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        with pytest.raises(OSError):
            claim.bind(f"\0shoal-ros-domain-{number}")
        process.kill()
        process.wait()
        claim.bind(f"\0shoal-ros-domain-{number}")


def test_the_users_own_number_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "42")
    assert chosen_domain().number == 42
    for wrong in ("x", "-1", "300"):
        monkeypatch.setenv("ROS_DOMAIN_ID", wrong)
        with pytest.raises(ShoalError, match="ROS_DOMAIN_ID"):
            chosen_domain()
    monkeypatch.delenv("ROS_DOMAIN_ID")
    claimed = chosen_domain()
    assert claimed.number >= 1
    claimed.close()


def test_environment_keeps_to_this_machine_unless_asked(tmp_path: Path) -> None:
    domain = claim_domain()
    assert domain.environment()["FASTRTPS_DEFAULT_PROFILES_FILE"] == str(LOOPBACK_PROFILE)
    assert domain.environment(network=True)["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET"
    secured = domain.environment(keystore=tmp_path)
    assert secured["ROS_SECURITY_STRATEGY"] == "Enforce" and secured["ROS_SECURITY_KEYSTORE"] == str(tmp_path)
    domain.close()
