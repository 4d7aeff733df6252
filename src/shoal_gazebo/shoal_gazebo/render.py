"""Templates filled with numbers: model.sdf, model.config."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from numpy.typing import NDArray

from shoal.vehicles.description import Vehicle
from shoal_gazebo import body as bodies
from shoal_gazebo.body import GazeboBody, Water, build_body
from shoal_gazebo.visuals import ACCENTS, Triple, load_visual

Array = NDArray[np.float64]
FORCES, VELOCITIES, AXES = "xyzkmn", "UVWPQR", "xyzpqr"
DEFAULT_CONE_DEG = 60.0  # half-angle; the hard limit of the fleet files
WIDEST_FOV_RAD = float(np.deg2rad(170))  # a flat image can't show a half-space


def environment() -> jinja2.Environment:
    """Strict: a name that the data lack is an error, not an empty string."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=True,
    )
    env.filters |= {"num": number, "nums": numbers, "radians": lambda degrees: numbers(np.deg2rad(degrees))}
    return env


def number(value: float) -> str:
    """Twelve digits, without -0 and without the dust of rounding."""
    return "0" if abs(value) < 1e-12 else f"{value:.12g}"


def numbers(values: Iterable[float]) -> str:
    """Separated by blanks, as SDF has vectors."""
    return " ".join(number(float(v)) for v in values)


def render_model(
    vehicle: Vehicle,
    water: Water,
    name: str | None = None,
    cone_deg: float = DEFAULT_CONE_DEG,
    camera: bool = True,
    current_enu: tuple[float, float, float] | None = None,
    accent: Triple = ACCENTS[0],
) -> str:
    """SDF of one vehicle.

    With a `name` it is that vehicle of a fleet; without one it is the type, to be spawned under any name: Gazebo then
    fills the name into topics and into the odometry's child frame.
    """
    body = build_body(vehicle, water)
    context: dict[str, Any] = {
        "vehicle": vehicle,
        "water": water,
        "body": body,
        "look": load_visual(vehicle),
        "name": name or vehicle.name,
        "own_frame": name is not None,
        "camera": camera,
        "cone_deg": cone_deg,
        "fov_rad": min(2 * float(np.deg2rad(cone_deg)), WIDEST_FOV_RAD),
        "current_enu": current_enu,
        "accent": accent,
        "inertia_names": [(a + b, i, j) for i, a in enumerate("xyz") for j, b in enumerate("xyz") if j >= i],
        "added_mass_names": [(a + b, i, j) for i, a in enumerate(AXES) for j, b in enumerate(AXES) if j >= i],
        "damping": damping_entries(body),
        "propeller_mass": bodies.PROPELLER_MASS_KG,
        "propeller_axial": bodies.PROPELLER_AXIAL_KGM2,
        "propeller_across": bodies.PROPELLER_ACROSS_KGM2,
        "propeller_diameter": 2 * bodies.PROPELLER_RADIUS_M,
    }
    return environment().get_template("model.sdf.jinja").render(context)


def damping_entries(body: GazeboBody) -> list[tuple[str, float]]:
    """Names and values for the Hydrodynamics system: <xU> linear, <xUabsU> quadratic (never <xUU>, which does not brake
    in reverse). All of the diagonal is written, so that a zero is seen to be meant."""
    entries: list[tuple[str, float]] = []
    for i, force in enumerate(FORCES):
        for j, velocity in enumerate(VELOCITIES):
            name = f"{force}{velocity}"
            pair = {name: body.linear_damping[i, j], f"{name}abs{velocity}": body.quadratic_damping[i, j]}
            entries += [(key, float(value)) for key, value in pair.items() if i == j or value != 0]
    return entries


def render_config(vehicle: Vehicle) -> str:
    """The model.config beside it."""
    return environment().get_template("model.config.jinja").render(vehicle=vehicle)
