"""fleet.launch.py and vehicle.launch.py start the list that `shoal up` starts; with the real launch_ros where it is."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from shoal.errors import ShoalError
from shoal_ros.node_list import NodeSpec, fleet_nodes, vehicle_node
from shoal_ros.reach import LOOPBACK_PROFILE, PROFILE_VARIABLES

ROOT = Path(__file__).resolve().parents[1]
needs_launch = pytest.mark.skipif(
    importlib.util.find_spec("launch_ros") is None, reason="launch_ros comes with a ROS 2 installation only"
)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.name.replace(".", "_"), path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def configured(module: ModuleType, **changes: str) -> dict[str, str]:
    return {name: default for name, (default, _, _) in module.ARGUMENTS.items()} | changes


CASES: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({}, {}),
    ({"fleet": "three", "path": "circle", "seed": "4"}, {"path": "circle", "seed": 4}),
    ({"plant": "none", "use_sim_time": "true", "display": "false"},
     {"plant": "none", "use_sim_time": True, "display": False}),
    ({"condition": "loss_70", "rate": "0", "duration": "20"},
     {"condition": "loss_70", "rate": 0.0, "lockstep": True, "duration_s": 20.0}),
    ({"relay": "true", "record": "somewhere/dive"}, {"use_relay": True, "record": "somewhere/dive"}),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "options"), CASES)
def test_same_nodes_as_shoal_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: dict[str, str], options: dict[str, Any]
) -> None:
    load(ROOT / "src/shoal_gazebo/test/launch_stand_in.py").install(monkeypatch)
    module = load(ROOT / "launch/fleet.launch.py")
    given = configured(module, state_dir=str(tmp_path), **arguments)
    actions = module.start(SimpleNamespace(launch_configurations=given))
    assert started(actions) == wanted(fleet_nodes(arguments.get("fleet", "two"), state_dir=str(tmp_path), **options))
    assert reach_of(actions)["FASTRTPS_DEFAULT_PROFILES_FILE"] == str(LOOPBACK_PROFILE)


def test_a_simulated_run_remembers_stop_in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    load(ROOT / "src/shoal_gazebo/test/launch_stand_in.py").install(monkeypatch)
    module = load(ROOT / "launch/fleet.launch.py")
    folders = []
    for _ in range(2):
        actions = module.start(SimpleNamespace(launch_configurations=configured(module)))
        used = {node[4][0]["state_dir"] for node in started(actions)}
        assert len(used) == 1  # all nodes of a run share it
        folders += used
    assert folders[0] != folders[1]
    real = module.start(SimpleNamespace(launch_configurations=configured(module, plant="none")))
    assert not any("state_dir" in node[4][0] for node in started(real))  # vehicles remember over reboots


def test_one_vehicle(monkeypatch: pytest.MonkeyPatch) -> None:
    load(ROOT / "src/shoal_gazebo/test/launch_stand_in.py").install(monkeypatch)
    module = load(ROOT / "launch/vehicle.launch.py")
    given = configured(module, vehicle="rov2")
    actions = module.start(SimpleNamespace(launch_configurations=given))
    assert started(actions) == wanted([vehicle_node("two", "rov2", plant="none", use_relay=False)])
    with pytest.raises(ShoalError, match="rov1, rov2"):
        module.start(SimpleNamespace(launch_configurations=configured(module)))


def test_every_launch_file_keeps_to_this_machine_opens_on_request_and_takes_keys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in PROFILE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("RMW_IMPLEMENTATION", raising=False)
    load(ROOT / "src/shoal_gazebo/test/launch_stand_in.py").install(monkeypatch)
    enclaves = ("dynamics", "guidance", "display", "rov1/mpc", "rov2/mpc", "teleop", "joystick", "clock_relay")
    bridges = ("bridge_rov1", "bridge_rov2", "bridge_shared", *(f"rov{k}/mavlink_bridge" for k in (1, 2)))
    for name in (*enclaves, "thrust_watchdog", "rov1/pilot_web", *bridges):
        (tmp_path / "keys/enclaves" / name).mkdir(parents=True)
    for name in ("fleet", "vehicle", "teleop", "gazebo", "ardusub", "pilot"):
        module = load(ROOT / f"launch/{name}.launch.py")
        extra = {"vehicle": {"vehicle": "rov1"}, "gazebo": {"run_dir": str(tmp_path / "run")}}.get(name, {})

        def actions(module: ModuleType = module, extra: dict[str, str] = extra, **given: str) -> list[Any]:
            return list(module.start(SimpleNamespace(launch_configurations=configured(module, **extra, **given))))

        (described,) = module.generate_launch_description().arguments
        assert [a.arguments[0] for a in described if type(a).__name__ == "DeclareLaunchArgument"] == [*module.ARGUMENTS]
        closed = reach_of(actions(network="false"))
        assert closed["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SYSTEM_DEFAULT", name
        assert closed["FASTRTPS_DEFAULT_PROFILES_FILE"] == str(LOOPBACK_PROFILE), name
        opened = reach_of(actions(network="true"))
        assert opened["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET" and "FASTRTPS_DEFAULT_PROFILES_FILE" not in opened
        secured = actions(keystore=str(tmp_path / "keys"))
        assert reach_of(secured)["ROS_SECURITY_STRATEGY"] == "Enforce"
        ours = [a.options for a in secured if type(a).__name__ == "Node"]
        assert ours and all(options["ros_arguments"][0] == "--enclave" for options in ours), name
        (tmp_path / "empty/enclaves").mkdir(parents=True, exist_ok=True)
        with pytest.raises(ShoalError, match="no enclave for /"):
            actions(keystore=str(tmp_path / "empty"))


def reach_of(actions: list[Any]) -> dict[str, str]:
    return dict(a.arguments for a in actions if type(a).__name__ == "SetEnvironmentVariable")


def test_ardusub_vehicles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bridge for each vehicle, all in real time; nothing that could arm."""
    load(ROOT / "src/shoal_gazebo/test/launch_stand_in.py").install(monkeypatch)
    module = load(ROOT / "launch/ardusub.launch.py")
    given = configured(module, path="circle", links="rov2=tcp:10.0.0.3:5760", position_source="odometry")
    nodes = started(module.start(SimpleNamespace(launch_configurations=given)))
    bridges = {node[3]: node[4][0] for node in nodes if node[1] == "mavlink_bridge"}
    assert {name: b["link"] for name, b in bridges.items()} == {
        "/rov1": "udpin:0.0.0.0:14550",
        "/rov2": "tcp:10.0.0.3:5760",
    }
    assert all(b["position_source"] == "odometry" and "arm" not in b for b in bridges.values())
    assert not any(node[1] == "dynamics" or node[4][0].get("use_sim_time") for node in nodes)
    given = configured(module, bridge="route=outputs,latitude_deg=63.4")
    nodes = started(module.start(SimpleNamespace(launch_configurations=given)))
    bridges = {node[3]: node[4][0] for node in nodes if node[1] == "mavlink_bridge"}
    assert all(b["route"] == "outputs" and b["latitude_deg"] == 63.4 for b in bridges.values()) and len(bridges) == 2
    for wrong in ("rout=axes", "voltage_V=much", "route"):
        with pytest.raises(ShoalError, match=f"'{wrong}'; expected NAME=VALUE"):
            module.start(SimpleNamespace(launch_configurations=configured(module, bridge=wrong)))
    with pytest.raises(ShoalError, match="expected NAME=LINK"):
        module.start(SimpleNamespace(launch_configurations=configured(module, links="nobody=tcp:a:1")))


def started(actions: list[Any]) -> list[tuple[Any, ...]]:
    nodes = [a.options for a in actions if type(a).__name__ == "Node"]
    return [(n["package"], n["executable"], n["name"], n["namespace"], n["parameters"]) for n in nodes]


def wanted(specs: list[NodeSpec]) -> list[tuple[Any, ...]]:
    return [(s.package, s.executable, s.name, s.namespace, [dict(s.parameters)]) for s in specs]


@needs_launch
@pytest.mark.parametrize("name", ["fleet", "vehicle"])
def test_real_launch_takes_the_description(name: str) -> None:
    from launch_ros.actions import Node

    from launch import LaunchContext

    module = load(ROOT / f"launch/{name}.launch.py")
    description = module.generate_launch_description()
    assert {argument.name for argument in description.get_launch_arguments()} == set(module.ARGUMENTS)
    context = LaunchContext()
    context.launch_configurations.update(configured(module, **({"vehicle": "rov1"} if name == "vehicle" else {})))
    nodes = [action for action in module.start(context) if isinstance(action, Node)]
    specs = fleet_nodes("two") if name == "fleet" else [vehicle_node("two", "rov1", plant="none")]
    assert [(n.node_package, n.node_executable) for n in nodes] == [(s.package, s.executable) for s in specs]


RUNNER = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
source = PythonLaunchDescriptionSource(sys.argv[1])
arguments = [tuple(word.split(":=")) for word in sys.argv[2:]]
service.include_launch_description(IncludeLaunchDescription(source, launch_arguments=arguments))
sys.exit(service.run())
"""


@needs_launch
@pytest.mark.ros
@pytest.mark.slow
def test_real_launch_runs_the_fleet(tmp_path: Path) -> None:
    """Our own nodes, found as `ros2 launch` finds them, for three simulated seconds."""
    for spec in fleet_nodes("two"):
        marker = tmp_path / "share/ament_index/resource_index/packages" / spec.package
        program = tmp_path / "lib" / spec.package / spec.executable
        for file in (marker, program):
            file.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m {spec.package}.{spec.executable} "$@"\n')
        program.chmod(0o755)
    environment = {
        **os.environ,
        "AMENT_PREFIX_PATH": str(tmp_path),
        "ROS_LOG_DIR": str(tmp_path / "log"),
        "ROS_DOMAIN_ID": "101",
    }
    words = [
        sys.executable,
        "-c",
        RUNNER,
        str(ROOT / "launch/fleet.launch.py"),
        "duration:=3",
        "rate:=0",
        "path:=circle",
    ]
    process = subprocess.Popen(words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)  # fmt: skip
    try:
        output, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its own session, nobody else's
        raise
    assert "the plant has ended" in output or "process has finished cleanly" in output, output
    assert "running" in output and "back end" in output, output
