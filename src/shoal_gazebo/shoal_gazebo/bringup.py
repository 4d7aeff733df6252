"""What Gazebo needs for one fleet, written to a folder: a model per vehicle, bridge files, where to spawn. No ROS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shoal.config.files import config_roots, find_config
from shoal.errors import ShoalError
from shoal.fleet.file import Fleet, Member, load_fleet
from shoal.frames import ned_to_enu
from shoal_gazebo.bridge import render_bridge
from shoal_gazebo.frames import enu_yaw_rad
from shoal_gazebo.latches import LatchPair, latch_pairs, with_latches
from shoal_gazebo.render import render_model
from shoal_gazebo.visuals import ACCENTS
from shoal_gazebo.world_reader import WorldNumbers, read_world
from shoal_gazebo.worlds import WORLDS

Current = tuple[float, float, float]


@dataclass(frozen=True)
class Spawn:
    """One vehicle to put into the world. ENU."""

    name: str
    model_file: Path
    x_m: float
    y_m: float
    z_m: float
    yaw_rad: float

    def arguments(self, world: str) -> list[str]:
        """For `ros_gz_sim create`."""
        pose = {"-x": self.x_m, "-y": self.y_m, "-z": self.z_m, "-Y": self.yaw_rad}
        numbers = [text for flag, value in pose.items() for text in (flag, f"{value:.6f}")]
        return ["-world", world, "-file", str(self.model_file), "-name", self.name, *numbers]


@dataclass(frozen=True)
class Preparation:
    """What the launch file starts Gazebo with."""

    fleet: Fleet
    fleet_file: Path
    world_file: Path
    world: WorldNumbers
    spawns: tuple[Spawn, ...]
    bridge_files: dict[str, Path]
    latches: tuple[LatchPair, ...] = ()


def prepare(
    fleet: str | Path, world: str | Path, folder: Path, camera: bool = True, current_enu: Current | None = None,
    docking: bool = False,
) -> Preparation:  # fmt: skip
    """Render models and bridges of a fleet for a world into `folder`.

    `current_enu` replaces the world's own; with `docking` vehicles whose ports fit have latches.
    """
    fleet_file = find_config("fleets", fleet)
    loaded = load_fleet(fleet_file)
    world_file = find_world(world)
    numbers = read_world(world_file)
    folder.mkdir(parents=True, exist_ok=True)
    flow = numbers.current_enu if current_enu is None else current_enu
    latches = latch_pairs(loaded) if docking else ()
    spawns = []
    for index, member in enumerate(loaded.vehicles):
        if member.vehicle().waterplane is not None and numbers.surface_m != 0.0:
            raise ShoalError(
                f"{world_file}: has no surface at z = 0 (graded buoyancy), and {member.name} floats; expected one"
            )
        model = render_model(
            member.vehicle(),
            numbers.water,
            name=member.name,
            cone_deg=loaded.sight.hard_deg,
            camera=camera,
            current_enu=flow,
            accent=ACCENTS[index % len(ACCENTS)],
        )
        model = with_latches(model, tuple(pair for pair in latches if pair.parent == member.name))
        spawns.append(_spawn(member, _write(folder / f"{member.name}.sdf", model)))
    texts = render_bridge(loaded, numbers.name, camera, latches)
    bridges = {name: _write(folder / f"bridge_{name}.yaml", text) for name, text in texts.items()}
    return Preparation(loaded, fleet_file, world_file, numbers, tuple(spawns), bridges, latches)


def _spawn(member: Member, model_file: Path) -> Spawn:
    x, y, z = (float(v) for v in ned_to_enu(np.array(member.start_m)))
    return Spawn(member.name, model_file, x, y, z, enu_yaw_rad(float(np.deg2rad(member.heading_deg))))


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def find_world(name_or_path: str | Path) -> Path:
    """A path if it exists, else the shipped world of that name."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    for root in share_roots():
        candidate = root / "worlds" / f"{name_or_path}.sdf"
        if candidate.is_file():
            return candidate
    raise ShoalError(f"worlds: '{name_or_path}' is unknown; expected an SDF file or one of: {', '.join(WORLDS)}")


def find_models() -> list[Path]:
    """Folders for GZ_SIM_RESOURCE_PATH."""
    return [root / "models" for root in share_roots() if (root / "models").is_dir()]


def share_roots() -> Iterator[Path]:
    """Folders that may hold worlds/ and models/: beside each config/, of the checkout or installed."""
    return (root.parent for root in config_roots())


def parse_current(text: str) -> Current | None:
    """`east north up` in m/s; empty for the world's own."""
    if not text.strip():
        return None
    try:
        east, north, up = (float(v) for v in text.replace(",", " ").split())
    except ValueError:
        raise ShoalError(
            f"current = '{text}'; expected three numbers, m/s east, north, up, such as '0.2 0 0'"
        ) from None
    if not np.all(np.isfinite([east, north, up])):
        raise ShoalError(f"current = '{text}'; expected finite numbers")
    return east, north, up
