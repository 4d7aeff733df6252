"""The committed files: the default model and the shipped worlds, from config/vehicles."""

from __future__ import annotations

from pathlib import Path

from shoal.vehicles.description import Vehicle, load_vehicle
from shoal_gazebo.body import Water, default_gravity
from shoal_gazebo.render import render_config, render_model
from shoal_gazebo.worlds import WORLDS, render_world

DEFAULT_VEHICLE = "bluerov2_heavy"
SHIPPED = (DEFAULT_VEHICLE, "bluerov2", "boat", "delfia1")  # models that are committed


def shipped_water() -> Water:
    """Of the shipped worlds: fresh water, gravity such that the default vehicle weighs what is published."""
    return Water(default_gravity(load_vehicle(DEFAULT_VEHICLE)))


def generated_files(vehicle: Vehicle) -> dict[str, str]:
    """Text by path below the checkout. A set that is not the default one gets a folder of its own."""
    default = load_vehicle(vehicle.name).parameter_set == vehicle.parameter_set
    folder = vehicle.name if default else f"{vehicle.name}_{vehicle.parameter_set}"
    water = shipped_water()
    model = {"model.sdf": render_model(vehicle, water), "model.config": render_config(vehicle)}
    files = {f"models/{folder}/{name}": text for name, text in model.items()}
    return files | {f"worlds/{name}.sdf": render_world(name, water) for name in WORLDS}


def out_of_step(files: dict[str, str], root: Path) -> list[str]:
    """Paths that are missing or differ below `root`."""

    def same(path: Path, text: str) -> bool:
        return path.is_file() and path.read_text(encoding="utf-8") == text

    return [name for name, text in files.items() if not same(root / name, text)]


def write_files(files: dict[str, str], root: Path) -> list[str]:
    """Write what differs; returns its paths."""
    changed = out_of_step(files, root)
    for name in changed:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name], encoding="utf-8")
    return changed
