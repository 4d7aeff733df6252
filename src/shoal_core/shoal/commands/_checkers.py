"""What `shoal check` does with each kind of file: load it all the way, and say in a few words what is in it."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import in_file


def vehicle(path: Path) -> str:
    """Every parameter set is built, not only the default one."""
    from shoal.vehicles.description import load_vehicle
    from shoal.vehicles.vehicle_file_v1 import load_vehicle_file

    file = load_vehicle_file(path)
    for name in file.sets:
        load_vehicle(path, name)
    return f"vehicle {file.name}, {len(file.thrusters)} thrusters, sets {', '.join(file.sets)}"


def assembly(path: Path) -> str:
    """Its modules are loaded, its loops closed, its hulls laid side by side."""
    from shoal.assembly.file import load_assembly

    loaded = load_assembly(path)
    return f"assembly {loaded.name}, {len(loaded.modules)} modules, {len(loaded.joints)} joints"


def blueprint(path: Path) -> str:
    """An order to build it in is looked for."""
    from shoal.platform.blueprint import load_blueprint
    from shoal.platform.planner import building_order

    loaded = load_blueprint(path)
    with in_file(path):
        rounds = building_order(loaded.cells)[1]
    return f"blueprint {loaded.name}, {len(loaded.cells)} vessels in {len(rounds)} rounds"


def thruster(path: Path) -> str:
    """Measured thrust."""
    from shoal.config.files import load_yaml
    from shoal.vehicles.curves import ThrusterTable

    table = load_yaml(path, ThrusterTable)
    return f"thruster {table.name}, {table.voltages_V[0]:g} to {table.voltages_V[-1]:g} V"


def fleet(path: Path) -> str:
    """Vehicle types and sets included, and whether the formation can keep its limits of sight."""
    from shoal.errors import ShoalError
    from shoal.fleet.file import load_fleet
    from shoal.fleet.placement import sight_problem

    loaded = load_fleet(path)
    with in_file(path):
        if problem := sight_problem(loaded, spare_deg=0.0):
            raise ShoalError(problem)
    return f"fleet {loaded.name}, {len(loaded.vehicles)} vehicle{'s' * (len(loaded.vehicles) > 1)}"


def condition(path: Path) -> str:
    """A condition."""
    from shoal.evaluation.metrics import METRICS, check_bounds
    from shoal.simulation.conditions import load_condition

    loaded = load_condition(path)
    check_bounds(loaded.bounds, METRICS, str(path))
    return f"condition {loaded.name}, {loaded.content_hash()}"


def controller(path: Path) -> str:
    """The class is imported; its settings and those of the runtime around it are checked."""
    from shoal.control.registry import load_controller_file
    from shoal.fleet.setup import runtime_settings

    loaded = load_controller_file(path)
    with in_file(path):
        runtime_settings(loaded)
    return f"controller {loaded.name}, class {loaded.controller}"


def campaign(path: Path) -> str:
    """With everything that it names."""
    from shoal.campaigns.file import campaign_jobs, load_campaign
    from shoal.campaigns.job import check_inputs

    loaded = load_campaign(path)
    jobs = campaign_jobs(loaded, path)
    with in_file(path):
        check_inputs(jobs)
    return f"campaign {loaded.name}, {len(jobs)} runs"


def reference(path: Path) -> str:
    """Published results."""
    from shoal.evaluation.reference_results import load_reference

    loaded = load_reference(str(path))
    return f"results of {loaded.name}, {len(loaded.rows)} lines"


def path(path: Path) -> str:
    """The splines are made, so that motion limits are checked as well."""
    from shoal.guidance.path_file import load_path

    return f"path of {load_path(path).duration_s:.0f} s"
