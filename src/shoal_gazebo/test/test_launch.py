"""launch/gazebo.launch.py: its own code everywhere, and with the real launch and launch_ros where they are there."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import launch_stand_in
from shoal_gazebo.bringup import prepare
from shoal_gazebo.nodes import gazebo_nodes, swimming_nodes

FILE = Path(__file__).parents[3] / "launch" / "gazebo.launch.py"


def is_real(name: str) -> bool:
    """PyPI has another package named launch."""
    return importlib.util.find_spec(name) is not None and importlib.util.find_spec("launch_ros") is not None


needs_launch = pytest.mark.skipif(not is_real("launch"), reason="launch and launch_ros come with a ROS 2 install only")


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gazebo_launch", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def configured(module: ModuleType, **changes: str) -> dict[str, str]:
    return {name: default for name, (default, _, _) in module.ARGUMENTS.items()} | changes


def nodes(actions: list[Any]) -> list[tuple[str, str]]:
    return [(a.options["package"], a.options["executable"]) for a in actions if type(a).__name__ == "Node"]


def test_what_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launch_stand_in.install(monkeypatch)
    module = load()
    given = configured(module, fleet="two", headless="true", path="circle", run_dir=str(tmp_path))
    actions = module.start(SimpleNamespace(launch_configurations=given))
    assert nodes(actions) == [
        *[("ros_gz_bridge", "parameter_bridge")] * 3,
        ("shoal_gazebo", "clock_relay"),
        ("shoal_gazebo", "thrust_watchdog"),
        ("ros_gz_sim", "create"),  # the first; the second follows when it has ended
    ]
    (include,) = [a for a in actions if type(a).__name__ == "IncludeLaunchDescription"]
    arguments = dict(include.options["launch_arguments"])["gz_args"]
    assert arguments.startswith("-r -v 2 -s --headless-rendering ") and arguments.endswith("/worlds/ocean.sdf")
    assert {p.name for p in tmp_path.iterdir()} >= {"rov1.sdf", "rov2.sdf", "bridge_shared.yaml"}


def test_controllers_follow_the_last_vehicle_only_when_all_went_well(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launch_stand_in.install(monkeypatch)
    module = load()
    given = configured(module, fleet="two", gui="true", run_dir=str(tmp_path))
    actions = module.start(SimpleNamespace(launch_configurations=given))
    first, last = [a.arguments[0] for a in actions if type(a).__name__ == "RegisterEventHandler"]
    well, badly = SimpleNamespace(returncode=0), SimpleNamespace(returncode=1)
    assert nodes(first.options["on_exit"](well, None)) == [("ros_gz_sim", "create")]
    started = nodes(last.options["on_exit"](well, None))
    ready = prepare("two", "ocean", tmp_path)
    expected = [(spec.package, spec.executable) for spec in swimming_nodes(ready)]
    assert started == [*expected, ("shoal_rqt", "operator_station")]
    assert ("shoal_mpc", "mpc") in started and ("shoal_dynamics", "dynamics") not in started
    assert [type(a).__name__ for a in first.options["on_exit"](badly, None)] == ["LogInfo", "Shutdown"]


def test_node_lists(tmp_path: Path) -> None:
    ready = prepare("ring5", "tank", tmp_path)
    beside = gazebo_nodes(ready)
    assert len({spec.full_name for spec in beside}) == len(beside) == 5 + 1 + 2
    assert all(Path(str(s.parameters["config_file"])).is_file() for s in beside if s.package == "ros_gz_bridge")
    for spec in swimming_nodes(ready, path="line"):
        assert spec.parameters["use_sim_time"] is True


def test_controllers_assume_gazebos_timing_not_the_vehicles(tmp_path: Path) -> None:
    """The description's thrusters lag by 0.15 s, Gazebo's do not: a controller that assumes the lag tumbles."""
    ready = prepare("two", "tank", tmp_path)
    controllers = [s for s in swimming_nodes(ready) if s.executable == "mpc"]
    assert len(controllers) == 2
    for spec in controllers:
        assert (spec.parameters["thruster_lag_s"], spec.parameters["actuation_delay_s"]) == (0.0, 0.005)
    other = swimming_nodes(ready, thruster_lag_s=0.1, actuation_delay_s=0.02, controller="pid")
    for spec in (s for s in other if s.executable == "mpc"):
        assert (spec.parameters["thruster_lag_s"], spec.parameters["actuation_delay_s"]) == (0.1, 0.02)
        assert spec.parameters["controller"] == "pid"
    assert all("thruster_lag_s" not in s.parameters for s in other if s.executable != "mpc")


def test_all_nodes_of_a_run_share_one_new_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What must survive the crash of a node is found again within the run, and by no other run."""
    launch_stand_in.install(monkeypatch)
    module = load()

    def folders(**given: str) -> set[str]:
        context = SimpleNamespace(launch_configurations=configured(module, run_dir=str(tmp_path), **given))
        actions = module.start(context)
        last = [a.arguments[0] for a in actions if type(a).__name__ == "RegisterEventHandler"][-1]
        started = [*actions, *last.options["on_exit"](SimpleNamespace(returncode=0), None)]
        holders = ("thrust_watchdog", "mpc", "guidance")
        found = [
            a.options["parameters"][0].get("state_dir")
            for a in started
            if type(a).__name__ == "Node" and a.options["executable"] in holders
        ]
        assert len(found) == 4
        return set(found)

    (first,), (second,) = folders(), folders()
    assert first and second and first != second
    assert folders(state_dir=str(tmp_path / "mine")) == {str(tmp_path / "mine")}


@needs_launch
def test_real_launch_takes_the_description() -> None:
    from launch import LaunchContext

    module = load()
    description = module.generate_launch_description()
    assert {a.name for a in description.get_launch_arguments()} == set(module.ARGUMENTS)
    context = LaunchContext()
    context.launch_configurations.update(configured(module))
    assert len(module.start(context)) > 8


FAKE_GAZEBO = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration
def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("gz_args"), DeclareLaunchArgument("on_exit_shutdown"),
        ExecuteProcess(cmd=[{tool!r}, "gazebo", LaunchConfiguration("gz_args")])])
"""
RUNNER = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
source = PythonLaunchDescriptionSource(sys.argv[1])
service.include_launch_description(IncludeLaunchDescription(source, launch_arguments=[("headless", "true")]))
sys.exit(service.run())
"""


@needs_launch
def test_real_launch_starts_things_in_order(tmp_path: Path) -> None:
    """With packages whose programs only write down that they were started."""
    log, tool = tmp_path / "log", tmp_path / "tool"
    tool.write_text(f'#!/bin/sh\necho "$@" >> {log}\ncase "$1" in create) ;; *) exec sleep 60 ;; esac\n')
    tool.chmod(0o755)
    for package, programs in {
        "ros_gz_sim": ["create"],
        "ros_gz_bridge": ["parameter_bridge"],
        "shoal_gazebo": ["clock_relay", "thrust_watchdog"],
        "shoal_mpc": ["mpc"],
        "shoal_guidance": ["guidance"],
        "shoal_ros": ["display"],
    }.items():
        marker = tmp_path / "share/ament_index/resource_index/packages" / package
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        (tmp_path / "share" / package / "launch").mkdir(parents=True)
        for program in programs:
            path = tmp_path / "lib" / package / program
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'#!/bin/sh\nexec {tool} {program} "$@"\n')
            path.chmod(0o755)
    (tmp_path / "share/ros_gz_sim/launch/gz_sim.launch.py").write_text(FAKE_GAZEBO.format(tool=str(tool)))
    environment = {**os.environ, "AMENT_PREFIX_PATH": str(tmp_path), "ROS_LOG_DIR": str(tmp_path / "ros")}
    process = subprocess.Popen([sys.executable, "-c", RUNNER, str(FILE)], env=environment, start_new_session=True)
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and (not log.is_file() or log.read_text().count("mpc ") < 2):
            time.sleep(0.2)
        time.sleep(1)
    finally:
        process.terminate()
        process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its own session: what launch may have left behind, and no one else
    lines = log.read_text().splitlines()
    started = [line.split()[0] for line in lines]
    assert started.count("create") == 2 and started.count("mpc") == 2 and started.count("parameter_bridge") == 3
    assert max(i for i, s in enumerate(started) if s == "create") < started.index("mpc")
    assert "-name rov2" in lines[[i for i, s in enumerate(started) if s == "create"][1]]
    files = [Path(word) for line in lines for word in line.split() if "/launch_params" in word]
    assert any("use_sim_time" in path.read_text() for path in files)
