"""One run from its names: task, fleet, condition, controller and seed in, a recording out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.config.files import validate
from shoal.config.json_text import json_object
from shoal.control.registry import ControllerFile, load_controller_file
from shoal.errors import ShoalError, ShoalWarning
from shoal.fleet.agent_settings import Timing
from shoal.fleet.file import Fleet
from shoal.fleet.generate import resolve_fleet
from shoal.fleet.placement import sight_problem
from shoal.fleet.runtime import VehicleRuntime
from shoal.fleet.setup import load_role, make_runtime, runtime_settings, settings_of
from shoal.plugins import find
from shoal.provenance import code_version
from shoal.recordings.recording import About, Recording
from shoal.simulation.conditions import Condition, load_condition
from shoal.simulation.perturbation import controller_vehicle
from shoal.simulation.simulator import FleetSimulator, stopwatches
from shoal.simulation.world import World
from shoal.tasks.base import Task, TaskContext
from shoal.tasks.directing import formation_of
from shoal.tasks.start import afloat
from shoal.vehicles.description import Vehicle

TASKS = {
    "follow_path": "shoal.tasks.follow_path:FollowPath",
    "hold_station": "shoal.tasks.follow_path:HoldStation",
    "dock": "shoal.tasks.dock:DockTask",
    "dock_chain": "shoal.tasks.dock_chain:DockChainTask",
    "assemble": "shoal.tasks.assemble:Assemble",
    "assemble_thesis": "shoal.tasks.assemble_thesis:AssembleThesis",
    "exchange": "shoal.tasks.exchange:Exchange",
    "inspect_and_dock": "shoal.tasks.inspect_and_dock:InspectAndDock",
    "join": "shoal.tasks.join:Join",
    "pilot_dive": "shoal.tasks.pilot_dive:PilotDive",
    "recover": "shoal.tasks.recover:Recover",
    "step_response": "shoal.tasks.step_response:StepResponse",
}
LONGEST_S = 86_400.0  # of a run
BEYOND_S = 8.0  # the water is drawn for longer than the run


@dataclass(frozen=True)
class RunSpec:
    """What to simulate; plain values, so that it travels to other processes."""

    path: str = "circle"
    fleet: str | Fleet = "two"  # number of vehicles, shipped name, file, or a fleet that is no file
    condition: str | Condition = "default"
    seed: int = 0
    controller: str | ControllerFile | None = None  # name, file or package.module:Name; None: the fleet file's
    duration_s: float | None = None  # None: the task's
    control_period_s: float | None = None  # None: the fleet file's
    task: str = "follow_path"  # shipped name or package.module:Name
    task_settings: Mapping[str, Any] = field(default_factory=dict)
    record_plans_every_s: float = 0.5


@dataclass(frozen=True)
class Run:
    """A run made concrete, ready to go."""

    spec: RunSpec
    fleet: Fleet
    condition: Condition
    controller: ControllerFile
    task: Task
    simulator: FleetSimulator
    control_period_s: float

    def recording(self) -> Recording:
        """What happened so far, with what was run: written here, never by a caller."""
        recording = self.simulator.recording()
        about = about_run(self.spec, self.fleet, self.condition, self.controller)
        about = replace(about, control_period_s=self.control_period_s, wall_s=self.simulator.wall_s)
        self.task.observe(self.simulator)
        bounds = {**self.task.bounds, **self.condition.bounds}
        return replace(recording, about=about, outcome=self.task.outcome(recording), bounds=bounds)


def simulate(spec: RunSpec, progress: Callable[[float], None] | None = None) -> Recording:
    """One run; `progress` gets the share done."""
    run = build_run(spec)
    world = run.simulator.world
    run.simulator.run(progress, lambda t_s: run.task.finished(t_s, world.states))
    return run.recording()


def load_inputs(spec: RunSpec) -> tuple[Fleet, Condition, ControllerFile]:
    """The files behind the names."""
    fleet = resolve_fleet(spec.fleet) if isinstance(spec.fleet, str) else spec.fleet
    condition = load_condition(spec.condition) if isinstance(spec.condition, str) else spec.condition
    return fleet, condition, load_controller(spec.controller, fleet)


def about_run(spec: RunSpec, fleet: Fleet, condition: Condition, controller: ControllerFile) -> About:
    """What a run is called in recordings and tables: by the names in its files, a task with the settings given."""
    task = ", ".join([spec.task, *(f"{key}={value}" for key, value in spec.task_settings.items())])
    path = Path(spec.path)
    return About(
        task=task,
        path=(path.stem if path.suffix else spec.path) if task_class(spec.task).follows_path else "",
        fleet=fleet.name,
        condition=condition.name,
        controller=controller.name or controller.controller,
        seed=spec.seed,
        control_period_s=spec.control_period_s or fleet.control_period_s,
        code_version=code_version(),
    )


def read_task_settings(text: str, what: str) -> dict[str, Any]:
    """From JSON, as parameters of nodes carry them."""
    return json_object(text, what)


def build_run(spec: RunSpec) -> Run:
    """Load the files, draw what the seed decides."""
    fleet, condition, controller = load_inputs(spec)
    task = make_task(spec.task, TaskContext(fleet, condition, spec.task_settings, spec.path, spec.seed))
    if problem := sight_problem(task.fleet, formation_of(task.fleet, condition.formation)):
        warnings.warn(f"fleet '{fleet.name}': {problem}", ShoalWarning, stacklevel=2)
    period_s = spec.control_period_s or fleet.control_period_s
    duration_s = spec.duration_s or task.duration_s
    starts = afloat(task.start(), {member.name: member.vehicle() for member in task.fleet.vehicles})
    world = World(task.fleet, starts, condition, spec.seed, period_s, duration_s + BEYOND_S, current=task.current())
    task.prepare(world)
    true = {name: plant.vehicle for name, plant in zip(world.names, world.plant.vehicles, strict=True)}
    make = runtime_maker(task.fleet, condition, controller, period_s, true)
    simulator = FleetSimulator(
        world,
        {name: make(name) for name in task.fleet.names},
        task.director(),
        spec.seed,
        period_s,
        duration_s,
        task.acquainted,
        spec.record_plans_every_s,
        make,
    )
    return Run(spec, fleet, condition, controller, task, simulator, period_s)


def load_controller(given: str | ControllerFile | None, fleet: Fleet) -> ControllerFile:
    """As named, else the fleet file's."""
    if isinstance(given, ControllerFile):
        return given
    return load_controller_file(fleet.controller if given is None else given)


def task_class(name: str) -> type[Task]:
    """By shipped name or package.module:Name."""
    found = find("task", name, TASKS)
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ShoalError(f"task = '{name}': expected a class derived from shoal.Task")
    return found


def make_task(name: str, context: TaskContext) -> Task:
    """Its settings are checked."""
    found = task_class(name)
    settings = validate(Path(f"task {name}"), dict(context.settings), found.Settings)
    return found(replace(context, settings=settings))


def make_runtimes(
    fleet: Fleet, condition: Condition, controller: ControllerFile, period_s: float
) -> dict[str, VehicleRuntime]:
    """One for each vehicle, believing what the condition says it believes."""
    make = runtime_maker(fleet, condition, controller, period_s)
    return {name: make(name) for name in fleet.names}


def runtime_maker(
    fleet: Fleet,
    condition: Condition,
    controller: ControllerFile,
    period_s: float,
    true: Mapping[str, Vehicle] | None = None,
) -> Callable[[str], VehicleRuntime]:
    """Makes the runtime of a vehicle, as often as it starts; `true`: as they are, for conditions that let it know."""
    settings, around = settings_of(controller, fleet), runtime_settings(controller, {"odometry_fallback_s": 0.0})
    watches = stopwatches(condition, fleet.names)
    timing = believed_timing(condition, period_s)
    members = {member.name: member for member in fleet.vehicles}

    def make(name: str) -> VehicleRuntime:
        model = condition.controller_model
        believed = controller_vehicle(members[name].vehicle(model.parameter_set), model, (true or {}).get(name))
        return make_runtime(load_role(fleet, name), believed, controller, settings, around, timing, watches[name])

    return make


def believed_timing(condition: Condition, period_s: float) -> Timing:
    """What the controllers reckon with: nominal values, never a run's draw."""
    believed = condition.controller_model.control_delay_periods
    periods = condition.control_delay_periods if believed is None else believed
    return Timing(period_s, periods * period_s)
