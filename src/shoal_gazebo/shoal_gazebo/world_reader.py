"""What a world file says about the water: name, gravity, density, step, current."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal_gazebo.body import Water
from shoal_gazebo.sdf_reader import SHOAL, Plugin, read_plugins, read_root, vector

Array = NDArray[np.float64]
GAZEBO_GRAVITY = 9.8  # SDF's default where a world gives none


@dataclass(frozen=True)
class WorldNumbers:
    """A world file, as far as vehicles care."""

    name: str
    gravity_enu: Array  # (3,)
    step_s: float
    surface_m: float | None  # z of the water's surface; None without graded buoyancy
    density_kgpm3: float
    current_enu: tuple[float, float, float]
    plugins: tuple[Plugin, ...]

    @property
    def water(self) -> Water:
        """For `build_body`."""
        return Water(float(-self.gravity_enu[2]), self.density_kgpm3)

    def has(self, kind: str) -> bool:
        """Is gz::sim::systems::<kind> loaded?"""
        return any(p.name == f"gz::sim::systems::{kind}" for p in self.plugins)


def read_world(path: Path) -> WorldNumbers:
    """A file with one world."""
    world = read_root(path).find("world")
    if world is None:
        raise ShoalError(f"{path}: has no <world>; expected one")
    gravity = world.findtext("gravity")
    current = world.findtext(f"{SHOAL}current")
    plugins = read_plugins(world)
    density, surface = _buoyancy(path, plugins)
    return WorldNumbers(
        name=world.attrib["name"],
        gravity_enu=vector(gravity) if gravity else np.array([0, 0, -GAZEBO_GRAVITY]),
        step_s=float(world.findtext("physics/max_step_size") or 0.001),
        surface_m=surface,
        density_kgpm3=density,
        current_enu=_triple(path, current) if current else (0.0, 0.0, 0.0),
        plugins=plugins,
    )


def _buoyancy(path: Path, plugins: tuple[Plugin, ...]) -> tuple[float, float | None]:
    for plugin in plugins:
        if plugin.name == "gz::sim::systems::Buoyancy":
            if "uniform_fluid_density" in plugin.values:
                return plugin.number("uniform_fluid_density"), None
            if "graded_buoyancy.default_density" in plugin.values:
                surface = plugin.values.get("graded_buoyancy.density_change.above_depth")
                return plugin.number("graded_buoyancy.default_density"), float(surface) if surface else None
            return 1000.0, None
    raise ShoalError(f"{path}: has no Buoyancy system; expected one, vehicles would sink")


def _triple(path: Path, text: str) -> tuple[float, float, float]:
    values = [float(v) for v in text.split()]
    if len(values) != 3:
        raise ShoalError(f"{path}: shoal:current = '{text}'; expected three numbers, m/s east, north and up")
    return values[0], values[1], values[2]
