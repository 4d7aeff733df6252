"""A fleet file as a list of nodes. `shoal up`, the launch files and the tests all start this list. No ROS import."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from shoal.config.files import find_config
from shoal.control.registry import load_controller_file
from shoal.errors import ShoalError
from shoal.fleet.file import Fleet, load_fleet
from shoal.fleet.generate import resolve_fleet
from shoal.guidance.path_file import load_path
from shoal.plugins import is_dotted
from shoal.simulation.conditions import Condition, ControllerModel, load_condition
from shoal.simulation.plan_faults import RADIO_FAULTS

Value = bool | int | float | str | list[str] | list[float]
CONTROLLER_NODES = ("mpc", "autopilot")  # executables, one of them per vehicle
NO_DEADLINE = 1e6  # periods; where the clock waits for the controllers, their thinking takes no time


@dataclass(frozen=True)
class NodeSpec:
    """One process."""

    package: str
    executable: str  # also the module: python -m package.executable
    name: str
    namespace: str = "/"
    parameters: Mapping[str, Value] = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()
    enclave: str = ""  # of SROS 2; empty: none

    @property
    def full_name(self) -> str:
        """`/rov1/mpc`."""
        return f"{self.namespace.rstrip('/')}/{self.name}"

    def ros_arguments(self) -> list[str]:
        """What follows the command."""
        rules = [("__node", self.name), ("__ns", self.namespace), *self.remappings]
        words = ["--ros-args", "--disable-external-lib-logs"]  # what it says goes to whoever started it, not to ~/.ros
        for old, new in rules:
            words += ["-r", f"{old}:={new}"]
        for key, value in self.parameters.items():
            words += ["-p", f"{key}:={_yaml(value)}"]
        return [*words, "--enclave", self.enclave] if self.enclave else words

    def command(self) -> list[str]:
        """Where there is no `ros2 run`."""
        return [sys.executable, "-m", f"{self.package}.{self.executable}", *self.ros_arguments()]

    def secured(self) -> NodeSpec:
        """With an enclave of its own name, as `ros2 security create_enclave` makes them."""
        return replace(self, enclave=self.full_name)

    def changed(self, **parameters: Value) -> NodeSpec:
        """The same with other parameters."""
        return replace(self, parameters={**self.parameters, **parameters})


@dataclass(frozen=True)
class Options:
    """What may be chosen beside the fleet."""

    path: str = ""  # standard test, path name or file; empty: hold station
    plant: Literal["builtin", "none"] = "builtin"  # none: Gazebo or real vehicles bring clock and odometry
    condition: str = "default"
    seed: int = 0
    rate: float = 1.0  # times real time; 0: as fast as it goes
    lockstep: bool = False  # the clock waits for the controllers
    duration_s: float = 0.0  # of simulated time; 0: no end
    record: str = ""  # folder for the recording; empty: none
    use_sim_time: bool | None = None  # None: with the built-in plant
    use_relay: bool | None = None  # None: when the condition's link is not perfect
    control_period_s: float | None = None  # None: the fleet file's
    guidance: bool = True
    display: bool = True
    ready_s: float | None = None  # None: guidance's own; how long all must be in place before a test starts
    controller: str = ""  # name, file or package.module:Name; empty: the fleet file's
    task: str = ""  # name or package.module:Name of a task that gives start and orders; empty: path or hold
    task_settings: Mapping[str, object] = field(default_factory=dict)  # of that task
    state_dir: str = ""  # what must survive a crash of a node is kept there, one folder a run; empty: the node's own


def fleet_nodes(fleet: str | Path, **options: object) -> list[NodeSpec]:
    """Everything that runs for a fleet, in the order of starting. Options are the fields of `Options`."""
    chosen = Options(**options)  # type: ignore[arg-type]
    found = fleet_name(fleet)
    loaded, condition = load_fleet(found), load_condition(chosen.condition)
    if chosen.path:
        load_path(chosen.path)  # a typing error is best reported before eight processes start
    if chosen.task:
        from shoal.tasks.run import task_class  # no less heavy than a simulator

        task_class(chosen.task)
    nodes = [_dynamics(found, loaded, chosen)] if chosen.plant == "builtin" else []
    if _relayed(chosen, condition):
        nodes.append(_relay(found, condition, chosen))
    nodes += [vehicle_node(found, name, **options) for name in loaded.names]
    if chosen.guidance:
        nodes.append(_guidance(found, loaded, condition, chosen))
    if chosen.display:
        nodes.append(NodeSpec("shoal_ros", "display", "display", parameters=_common(found, chosen)))
    if chosen.record:
        nodes.append(_recorder(found, condition, chosen))
    return nodes


def vehicle_node(fleet: str | Path, vehicle: str, **options: object) -> NodeSpec:
    """One vehicle's controller: all that has to run on the vehicle's own computer."""
    chosen = Options(**options)  # type: ignore[arg-type]
    found = fleet_name(fleet)
    loaded, condition = load_fleet(found), load_condition(chosen.condition)
    if vehicle not in loaded.names:
        raise ShoalError(f"vehicle = '{vehicle}': not in fleet '{found}'; expected one of: {', '.join(loaded.names)}")
    relayed = _relayed(chosen, condition)
    parameters: dict[str, Value] = {
        **_common(found, chosen),
        "vehicle": vehicle,
        "controller": controller_name(loaded, chosen),
        "control_period_s": period_s(loaded, chosen),
        "actuation_delay_s": believed_delay_s(condition, period_s(loaded, chosen)),
        "use_relay": relayed,
        # What a relay loses, odometry from the simulator must not bring back.
        "odometry_fallback_s": 0.0 if relayed else 0.5,
    }
    if condition.controller_model != ControllerModel():
        parameters["condition"] = _file("conditions", chosen.condition)
    if chosen.lockstep:
        parameters["gate.deadline_periods"] = NO_DEADLINE
    piloted = load_controller_file(chosen.controller or loaded.controller).controller == "autopilot"
    executable = "autopilot" if piloted else "mpc"
    return NodeSpec(f"shoal_{executable}", executable, executable, f"/{vehicle}", parameters)


def controller_name(fleet: Fleet, chosen: Options) -> str:
    """What every node can load; its class and settings are checked before anything starts."""
    name = chosen.controller or fleet.controller
    load_controller_file(name)
    return name if is_dotted(name) else _file("controllers", name)


def believed_delay_s(condition: Condition, control_period_s: float) -> float:
    """From odometry to the thrust that answers it, as the controllers believe it."""
    believed = condition.controller_model.control_delay_periods
    return (condition.control_delay_periods if believed is None else believed) * control_period_s


def period_s(fleet: Fleet, chosen: Options) -> float:
    """Of control and odometry."""
    return float(chosen.control_period_s or fleet.control_period_s)


def fleet_name(fleet: str | Path) -> str:
    """What every node can load: a shipped name or an absolute path; a number of vehicles becomes the name."""
    text = str(fleet)
    if text.isdigit():
        text = resolve_fleet(text).name
    return _file("fleets", text)


def _file(kind: str, name_or_path: str) -> str:
    """Nodes may run elsewhere: files by their full path, shipped ones by name."""
    path = Path(name_or_path)
    if path.is_file():
        return str(path.resolve())
    find_config(kind, name_or_path)
    return name_or_path


def _common(fleet: str, chosen: Options) -> dict[str, Value]:
    simulated = chosen.plant == "builtin" if chosen.use_sim_time is None else chosen.use_sim_time
    common: dict[str, Value] = {"use_sim_time": simulated, "fleet": fleet}
    return common | {"state_dir": chosen.state_dir} if chosen.state_dir else common


def _relayed(chosen: Options, condition: Condition) -> bool:
    link = condition.link
    perfect = not (link.loss or link.delay_s or link.jitter_s or link.dropouts or link.line_of_sight)
    perfect = perfect and not any(fault.kind in RADIO_FAULTS for fault in condition.faults)
    return (not perfect) if chosen.use_relay is None else chosen.use_relay


def _dynamics(fleet: str, loaded: Fleet, chosen: Options) -> NodeSpec:
    parameters: dict[str, Value] = {
        "fleet": fleet,
        "path": str(Path(chosen.path).resolve()) if Path(chosen.path).is_file() else chosen.path,
        "task": chosen.task,
        "task_settings": json.dumps(dict(chosen.task_settings)),
        "condition": _file("conditions", chosen.condition),
        "seed": chosen.seed,
        "rate": float(chosen.rate),
        "lockstep": chosen.lockstep,
        "control_period_s": period_s(loaded, chosen),
        "odometry_rate_hz": 1.0 / period_s(loaded, chosen),
        "duration_s": float(chosen.duration_s),
        "wait_for_reference": chosen.guidance,
        "wait_for_recorder": bool(chosen.record),
    }
    if chosen.state_dir:
        parameters["state_dir"] = chosen.state_dir
    return NodeSpec("shoal_dynamics", "dynamics", "dynamics", parameters=parameters)


def _relay(fleet: str, condition: Condition, chosen: Options) -> NodeSpec:
    link = condition.link.model_dump()
    dropouts = [float(t) for pair in link.pop("dropouts") for t in pair]
    parameters: dict[str, Value] = {
        **_common(fleet, chosen),
        "condition": _file("conditions", chosen.condition),
        "seed": chosen.seed,
        **link,
    }
    if dropouts:
        parameters["dropouts"] = dropouts
    return NodeSpec("shoal_ros", "relay", "relay", parameters=parameters)


def _guidance(fleet: str, loaded: Fleet, condition: Condition, chosen: Options) -> NodeSpec:
    parameters = _common(fleet, chosen)
    if chosen.task == "assemble":  # its vessels have each a way of their own, and a manager instead of guidance
        parameters["task_settings"] = json.dumps(dict(chosen.task_settings))
        return NodeSpec("shoal_assembly", "fleet_manager", "fleet_manager", parameters=parameters)
    changes = condition.formation.model_dump(exclude_none=True)
    if changes:
        formation = loaded.formation.changed(**changes)
        parameters |= {"formation_kind": formation.kind, "formation_spacing_m": formation.spacing_m}
        if isinstance(formation.radius_m, float):
            parameters["formation_radius_m"] = formation.radius_m
    if chosen.task:
        parameters |= {"task": chosen.task, "condition": _file("conditions", chosen.condition), "seed": chosen.seed}
        parameters |= {"path": chosen.path} if chosen.path else {}
    elif chosen.path:
        parameters |= {"start_mode": "test", "test": chosen.path}
    if chosen.ready_s is not None:
        parameters["ready_s"] = float(chosen.ready_s)
    return NodeSpec("shoal_guidance", "guidance", "guidance", parameters=parameters)


def _recorder(fleet: str, condition: Condition, chosen: Options) -> NodeSpec:
    folder = Path(chosen.record).resolve()
    controller = load_controller_file(chosen.controller or load_fleet(fleet).controller)
    parameters = {**_common(fleet, chosen), "folder": str(folder.parent), "name": folder.name, "autostart": True}
    parameters["controller"] = controller.name or controller.controller  # as the simulator notes it
    if chosen.task:
        parameters["task"] = chosen.task
    if chosen.plant == "builtin":  # in Gazebo and in the sea the condition is not what it is
        parameters |= {"condition": condition.name, "seed": chosen.seed, "lockstep": chosen.lockstep}
    return NodeSpec("shoal_recorder", "recorder", "recorder", parameters=parameters)


def _yaml(value: Value) -> str:
    """As rcl reads it: JSON is YAML, and a float must look like one."""
    if isinstance(value, float):
        return repr(value) if "." in repr(value) or "e" in repr(value) else f"{value}.0"
    return json.dumps(value)
