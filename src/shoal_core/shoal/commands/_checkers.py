"""What `shoal check` does with each kind of file: load it all the way, and say in a few words what is in it."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import in_file


def vehicle(path: Path) -> str:
    """Every parameter set is built, not only the default one."""
    from shoal.config.files import load_yaml
    from shoal.vehicles.description import load_vehicle
    from shoal.vehicles.vehicle_file import VehicleFile

    file = load_yaml(path, VehicleFile)
    for name in file.sets:
        load_vehicle(path, name)
    return f"vehicle {file.name}, {len(file.thrusters)} thrusters, sets {', '.join(file.sets)}"


def fleet(path: Path) -> str:
    """Vehicle types and sets included."""
    from shoal.fleet.file import load_fleet

    loaded = load_fleet(path)
    return f"fleet {loaded.name}, {len(loaded.vehicles)} vehicle{'s' * (len(loaded.vehicles) > 1)}"


def condition(path: Path) -> str:
    """A condition."""
    from shoal.simulation.conditions import load_condition

    loaded = load_condition(path)
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
