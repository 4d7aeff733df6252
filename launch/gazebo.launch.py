"""A fleet in Gazebo: ros2 launch shoal_bringup gazebo.launch.py fleet:=two world:=ocean headless:=true

Starts Gazebo, spawns one model per vehicle (rendered from the fleet file into `run_dir`), the bridges, the watchdog,
then the same controllers, guidance, display and recorder as fleet.launch.py. For Jazzy with Harmonic; docs/gazebo.md.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from launch.actions import (
    AppendEnvironmentVariable,
    IncludeLaunchDescription,
    LogInfo,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription
from shoal_ros.launch_arguments import KEYSTORE, NETWORK, YES_NO, Arguments, chosen, describe

ARGUMENTS: Arguments = {
    "fleet": ("two", "Fleet name or file.", None),
    "world": ("ocean", "ocean, tank, or an SDF file.", None),
    "headless": ("false", "Without Gazebo's window.", YES_NO),
    "camera": ("true", "Bow cameras; they need a GPU to run in real time.", YES_NO),
    "current": ("", "Water current 'east north up' in m/s; empty for the world's own.", None),
    "docking": ("false", "Latches between vehicles whose ports fit, and their cameras, simulated.", YES_NO),
    "path": ("", "Standard test, path name or file for guidance; empty to hold station.", None),
    "record": ("", "Folder for the recording; empty for none.", None),
    "controller": ("", "Name, file or package.module:Name; empty for the fleet file's.", None),
    "thruster_lag_s": ("0.0", "Thruster lag that the controllers assume, s; Gazebo's thrusters have none.", None),
    "actuation_delay_s": ("0.005", "Delay from odometry to thrust that the controllers assume, s.", None),
    "gui": ("false", "Open the operator station.", YES_NO),
    "run_dir": ("", "Where rendered models and bridge files go; empty for a new temporary folder.", None),
    "state_dir": ("", "Folder that remembers STOP over restarts; empty: new for this run.", None),
    "network": NETWORK,
    "keystore": KEYSTORE,
}


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` calls."""
    return describe(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Any]:
    """Everything, once the arguments are known. Imports wait until here, so that --show-args works without them."""
    from shoal_gazebo.bringup import find_models, parse_current, prepare
    from shoal_gazebo.nodes import gazebo_nodes, swimming_nodes
    from shoal_ros.launching import launch_actions, reach_actions, run_state

    given = chosen(context, ARGUMENTS)
    on = {name for name, value in given.items() if value == "true"}
    folder = Path(given["run_dir"] or tempfile.mkdtemp(prefix="shoal_gazebo_"))
    ready = prepare(
        given["fleet"], given["world"], folder, "camera" in on, parse_current(given["current"]), "docking" in on
    )
    network = "network" in on
    state_dir = run_state(given["state_dir"], simulated=True)
    swimming = swimming_nodes(
        ready,
        thruster_lag_s=float(given["thruster_lag_s"]),
        actuation_delay_s=float(given["actuation_delay_s"]),
        path=given["path"],
        record=given["record"],
        controller=given["controller"],
        state_dir=state_dir,
    )
    swimmers = launch_actions(swimming, network, given["keystore"])
    if "gui" in on:
        enclave = ["--enclave", "/operator_station"] if given["keystore"] else []
        swimmers.append(
            Node(package="shoal_rqt", executable="operator_station", ros_arguments=enclave, output="screen")
        )
    spawners = [spawner(s.arguments(ready.world.name), bool(given["keystore"])) for s in ready.spawns]
    return [
        *surroundings(find_models(), network),
        *reach_actions(network, given["keystore"]),  # also for Gazebo and the spawners
        gazebo(ready.world_file, "headless" in on, "camera" in on),
        *launch_actions(gazebo_nodes(ready, state_dir), network, given["keystore"]),
        *spawned_in_turn(spawners, swimmers),
    ]


def surroundings(models: list[Path], network: bool) -> list[Any]:
    """Models by name; Gazebo's own transport keeps to this machine unless asked (ROS: see `launch_actions`)."""
    actions: list[Any] = [AppendEnvironmentVariable("GZ_SIM_RESOURCE_PATH", str(folder)) for folder in models]
    return actions if network else [*actions, SetEnvironmentVariable("GZ_IP", "127.0.0.1")]


def gazebo(world: Path, headless: bool, camera: bool) -> Any:
    """Gazebo itself, running at once (-r). When it ends, everything ends."""
    # Cameras without a window need a context of their own (EGL); without cameras nothing is rendered at all.
    window = ["-s", *(["--headless-rendering"] if camera else [])] if headless else []
    launch_file = PathJoinSubstitution([FindPackageShare("ros_gz_sim"), "launch", "gz_sim.launch.py"])
    arguments = {"gz_args": " ".join(["-r", "-v", "2", *window, str(world)]), "on_exit_shutdown": "true"}
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(launch_file), launch_arguments=arguments.items())


def spawner(arguments: list[str], secured: bool) -> Node:
    """Puts one vehicle into the world and exits."""
    enclave = ["--enclave", "/spawner"] if secured else []
    return Node(package="ros_gz_sim", executable="create", arguments=arguments, ros_arguments=enclave, output="screen")


def spawned_in_turn(spawners: list[Node], then: list[Any]) -> list[Any]:
    """One vehicle after the other; controllers last: a vehicle's first odometry is nonsense (docs/gazebo.md)."""
    handlers = []
    for index, action in enumerate(spawners):
        following = then if index == len(spawners) - 1 else [spawners[index + 1]]
        handlers.append(RegisterEventHandler(OnProcessExit(target_action=action, on_exit=_if_well(following))))
    return [*handlers, spawners[0]]


def _if_well(following: list[Any]) -> Any:
    def go_on(event: Any, _context: LaunchContext) -> list[Any]:
        if event.returncode == 0:
            return following
        return [LogInfo(msg=f"spawning failed with {event.returncode}"), Shutdown(reason="a vehicle was not spawned")]

    return go_on
