"""A vehicle's runtime out of fleet and controller files; the simulator and the ROS node use the same function."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shoal.config.files import validate
from shoal.control.base import ControllerContext
from shoal.control.nmpc.controller import NmpcController
from shoal.control.registry import ControllerFile, controller_class, controller_settings, load_controller_file
from shoal.errors import ShoalError
from shoal.fleet.agent_settings import AgentSettings, Timing
from shoal.fleet.file import Fleet
from shoal.fleet.placement import sight_pairs
from shoal.fleet.runtime import Role, RuntimeSettings, VehicleRuntime
from shoal.fleet.stop import StopLatch
from shoal.messages.limits import Limits
from shoal.vehicles.description import Vehicle
from shoal.vehicles.stiffness import resolvable


def load_role(fleet: Fleet, vehicle: str) -> Role:
    """Who a vehicle is in its fleet; a ShoalError when it is not in it."""
    if vehicle not in fleet.names:
        raise ShoalError(
            f"vehicle = '{vehicle}': not in fleet '{fleet.name}'; expected one of: {', '.join(fleet.names)}"
        )
    sight = sight_pairs(fleet)
    others = tuple(name for name in fleet.names if name != vehicle)
    return Role(vehicle, others, frozenset(seen for seer, seen in sight if seer == vehicle), fleet.limits)


def settings_of(file: ControllerFile, fleet: Fleet) -> Any:
    """The controller's settings; those with limits take the fleet's, unless the file has its own."""
    with_limits = "limits" in controller_class(file).Settings.model_fields and "limits" not in file.settings
    return controller_settings(file, {"limits": fleet.limits.model_dump()} if with_limits else None)


def runtime_settings(file: ControllerFile, given: Mapping[str, Any] | None = None) -> RuntimeSettings:
    """What is around the controller, as its file has it."""
    return validate(Path(f"controller {file.name}: runtime"), {**file.runtime, **(given or {})}, RuntimeSettings)


def make_runtime(
    role: Role,
    vehicle: Vehicle,
    file: ControllerFile,
    settings: Any,
    runtime: RuntimeSettings,
    timing: Timing,
    stopwatch: Callable[[], float] = time.perf_counter,
    stop: StopLatch | None = None,
    coarse_clock: bool = False,
) -> VehicleRuntime:
    """`vehicle` is what the controller believes; `coarse_clock`: time is a simulator's, which ticks.

    Drag too stiff to be integrated is limited.
    """
    vehicle = resolvable(vehicle)
    context = ControllerContext(role.name, vehicle, settings, role.limits, timing.period_s, role.others)
    controller = controller_class(file)(context)
    return VehicleRuntime(role, vehicle, controller, runtime, timing, stopwatch, stop, coarse_clock)


def nmpc_controller(name: str, vehicle: Vehicle, period_s: float) -> tuple[NmpcController, AgentSettings]:
    """One of class nmpc on its own, with the settings around it; a ShoalError for any other class."""
    file = load_controller_file(name)
    context = ControllerContext("vehicle", vehicle, controller_settings(file), Limits(), period_s)
    made = controller_class(file)(context)
    if not isinstance(made, NmpcController):
        raise ShoalError(f"controller = '{name}': is a {type(made).__name__}; expected one of class nmpc")
    return made, runtime_settings(file).agent
