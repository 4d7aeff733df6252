"""Shoal: fleets of marine robots, simulated, controlled and judged. The core, without ROS.

    import shoal

    run = shoal.simulate(path="circle", fleet="two", condition="loss_70", seed=1)
    print(shoal.summarise(run).failure or "passed")
    shoal.plot(run, "run.png")

Names below are imported when they are first used, so that `import shoal` costs nothing. `examples/` shows each.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from shoal.provenance import VERSION as __version__

if TYPE_CHECKING:
    from shoal.api import plot, simulate, vary
    from shoal.config.file_model import FileModel
    from shoal.control.base import Controller, ControllerContext, ControlOutput, Estimate, NeighbourForecast
    from shoal.control.registry import ControllerFile, load_controller_file
    from shoal.control.steady_thrust import SteadyThrust
    from shoal.errors import ShoalError
    from shoal.evaluation.frames import recording_dataset, recording_frame, rows
    from shoal.evaluation.metric import Bound, Metric, Value
    from shoal.evaluation.metrics import summarise
    from shoal.evaluation.run_directory import write_run
    from shoal.evaluation.summary import Summary
    from shoal.fleet.file import Fleet, load_fleet
    from shoal.messages.directive import Directive
    from shoal.messages.placement import Placement
    from shoal.messages.preview import Preview
    from shoal.messages.state import State
    from shoal.recordings.recording import Outcome, Recording
    from shoal.reports.view import load_run
    from shoal.simulation.conditions import Condition, load_condition
    from shoal.tasks.base import Task, TaskContext, TaskSettings
    from shoal.tasks.directing import ScriptedDirector
    from shoal.tasks.run import RunSpec
    from shoal.vehicles.description import Vehicle, load_vehicle

_HOME = {
    "api": ("plot", "simulate", "vary"),
    "config.file_model": ("FileModel",),
    "control.base": ("ControlOutput", "Controller", "ControllerContext", "Estimate", "NeighbourForecast"),
    "control.registry": ("ControllerFile", "load_controller_file"),
    "control.steady_thrust": ("SteadyThrust",),
    "errors": ("ShoalError",),
    "evaluation.frames": ("recording_dataset", "recording_frame", "rows"),
    "evaluation.metric": ("Bound", "Metric", "Value"),
    "evaluation.metrics": ("summarise",),
    "evaluation.run_directory": ("write_run",),
    "evaluation.summary": ("Summary",),
    "fleet.file": ("Fleet", "load_fleet"),
    "messages.directive": ("Directive",),
    "messages.placement": ("Placement",),
    "messages.preview": ("Preview",),
    "messages.state": ("State",),
    "recordings.recording": ("Outcome", "Recording"),
    "reports.view": ("load_run",),
    "simulation.conditions": ("Condition", "load_condition"),
    "tasks.base": ("Task", "TaskContext", "TaskSettings"),
    "tasks.directing": ("ScriptedDirector",),
    "tasks.run": ("RunSpec",),
    "vehicles.description": ("Vehicle", "load_vehicle"),
}
_MODULE = {name: f"shoal.{module}" for module, names in _HOME.items() for name in names}

__all__ = [
    "Bound", "Condition", "ControlOutput", "Controller", "ControllerContext", "ControllerFile", "Directive",
    "Estimate", "FileModel", "Fleet", "Metric", "NeighbourForecast", "Outcome", "Placement", "Preview",
    "Recording", "RunSpec", "ScriptedDirector", "ShoalError", "State", "SteadyThrust", "Summary", "Task",
    "TaskContext", "TaskSettings", "Value", "Vehicle", "__version__", "load_condition", "load_controller_file",
    "load_fleet", "load_run", "load_vehicle", "plot", "recording_dataset", "recording_frame", "rows",
    "simulate", "summarise", "vary", "write_run",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    found = getattr(importlib.import_module(_MODULE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
