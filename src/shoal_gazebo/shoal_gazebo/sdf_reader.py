"""The numbers of an SDF file as Gazebo reads them. Knows nothing of the generator: it is half of the check on it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal_gazebo.frames import rotation_rpy

Array = NDArray[np.float64]
SHOAL = "{https://shoal.example.org/sdf}"
FORCES, VELOCITIES, AXES = "xyzkmn", "UVWPQR", "xyzpqr"


@dataclass(frozen=True)
class Pose:
    """Where something is in its parent's frame."""

    position_m: Array  # (3,)
    rotation: Array  # (3,3)


@dataclass(frozen=True)
class Shape:
    """A collision."""

    name: str
    volume_m3: float
    center_m: Array  # (3,) in the link's frame
    touches: bool  # False with collide_bitmask 0
    size_m: Array | None = None  # (3,) of a box


@dataclass(frozen=True)
class LinkNumbers:
    """A link."""

    name: str
    pose: Pose  # in the model's frame
    mass_kg: float
    com_m: Array  # (3,) in the link's frame
    inertia_kgm2: Array  # (3,3) about com_m, link axes
    added_mass: Array | None  # (6,6) about the link's origin
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Joint:
    """A revolute joint."""

    name: str
    parent: str
    child: str
    axis: Array  # (3,) in the child's frame


@dataclass(frozen=True)
class Plugin:
    """A system and its parameters as text."""

    name: str
    values: dict[str, str]

    def number(self, key: str) -> float:
        """One parameter."""
        return float(self.values[key])


@dataclass(frozen=True)
class Camera:
    """A camera sensor."""

    name: str
    link: str
    pose: Pose
    fov_rad: float
    width: int
    height: int
    topic: str | None


@dataclass(frozen=True)
class ModelNumbers:
    """A model file."""

    name: str
    vehicle_type: str | None
    parameter_set: str | None
    gravity_mps2: float | None
    density_kgpm3: float | None
    links: dict[str, LinkNumbers]
    joints: dict[str, Joint]
    plugins: tuple[Plugin, ...]
    cameras: tuple[Camera, ...]

    def systems(self, kind: str) -> list[Plugin]:
        """All plugins gz::sim::systems::<kind>."""
        return [p for p in self.plugins if p.name == f"gz::sim::systems::{kind}"]


def read_root(path: Path) -> ET.Element:
    """The <sdf> element."""
    try:
        root = ET.parse(path).getroot()
    except OSError as error:
        raise ShoalError(f"{path}: cannot be read ({error.strerror}); expected an SDF file") from None
    except ET.ParseError as error:
        raise ShoalError(f"{path}: not XML: {error}; expected an SDF file") from None
    if root.tag != "sdf":
        raise ShoalError(f"{path}: root is <{root.tag}>; expected <sdf>")
    return root


def read_model(path: Path) -> ModelNumbers:
    """A file with one model."""
    root = read_root(path)
    model = root.find("model")
    if model is None:
        raise ShoalError(f"{path}: has no <model>; expected one")
    try:
        return _model(model)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ShoalError(f"{path}: something is missing or no number ({error!r}); expected a complete model") from None


def _model(model: ET.Element) -> ModelNumbers:
    origin = model.find(f"{SHOAL}vehicle")
    about = dict(origin.attrib) if origin is not None else {}
    return ModelNumbers(
        name=model.attrib["name"],
        vehicle_type=about.get("type"),
        parameter_set=about.get("parameter_set"),
        gravity_mps2=float(about["gravity"]) if about else None,
        density_kgpm3=float(about["density"]) if about else None,
        links={e.attrib["name"]: _link(e) for e in model.findall("link")},
        joints={e.attrib["name"]: _joint(e) for e in model.findall("joint")},
        plugins=read_plugins(model),
        cameras=tuple(_camera(s, link.attrib["name"]) for link in model.iter("link") for s in link.findall("sensor")),
    )


def read_plugins(parent: ET.Element) -> tuple[Plugin, ...]:
    """Systems attached to a model or world; nested parameters are joined by dots."""
    return tuple(Plugin(p.attrib["name"], dict(_leaves(p, ""))) for p in parent.findall("plugin"))


def _leaves(element: ET.Element, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for child in element:
        key = f"{prefix}{child.tag}"
        found += _leaves(child, f"{key}.") if len(child) else [(key, (child.text or "").strip())]
    if len({k for k, _ in found}) != len(found):
        raise ValueError(f"a parameter of {element.attrib.get('name', element.tag)} is given twice")
    return found


def vector(text: str | None) -> Array:
    """Numbers separated by blanks."""
    return np.array([float(x) for x in (text or "").split()])


def read_pose(parent: ET.Element) -> Pose:
    """<pose> in radians; none is the parent's own frame."""
    element = parent.find("pose")
    if element is None:
        return Pose(np.zeros(3), np.eye(3))
    if element.attrib:
        raise ValueError(f"pose with {element.attrib} where a plain one was expected")
    values = vector(element.text)
    if values.shape != (6,):
        raise ValueError(f"pose has {values.size} numbers, expected 6")
    return Pose(values[:3], rotation_rpy(*values[3:]))


def _link(link: ET.Element) -> LinkNumbers:
    inertial = _child(link, "inertial")
    at = read_pose(inertial)
    tensor = _symmetric(_child(inertial, "inertia"), "xyz", "i")
    added = inertial.find("fluid_added_mass")
    return LinkNumbers(
        name=link.attrib["name"],
        pose=read_pose(link),
        mass_kg=float(inertial.findtext("mass", "")),
        com_m=at.position_m,
        inertia_kgm2=at.rotation @ tensor @ at.rotation.T,
        added_mass=None if added is None else _symmetric(added, AXES, ""),
        shapes=tuple(_shape(c) for c in link.findall("collision")),
    )


def _child(parent: ET.Element, tag: str) -> ET.Element:
    found = parent.find(tag)
    if found is None:
        raise KeyError(f"<{tag}> of <{parent.tag} {parent.attrib.get('name', '')}>")
    return found


def _symmetric(element: ET.Element, letters: str, prefix: str) -> Array:
    matrix = np.zeros((len(letters), len(letters)))
    names = {f"{prefix}{a}{b}": (i, j) for i, a in enumerate(letters) for j, b in enumerate(letters) if j >= i}
    for child in element:
        i, j = names[child.tag]
        matrix[i, j] = matrix[j, i] = float(child.text or "")
    return matrix


def _shape(collision: ET.Element) -> Shape:
    geometry = _child(collision, "geometry")
    kind, size = geometry[0], None
    if kind.tag == "sphere":
        volume = 4 / 3 * np.pi * float(kind.findtext("radius", "")) ** 3
    elif kind.tag == "box":
        size = vector(kind.findtext("size"))
        volume = float(np.prod(size))
    else:
        raise ValueError(f"collision with <{kind.tag}>, expected sphere or box (graded buoyancy is surest with these)")
    mask = collision.findtext("surface/contact/collide_bitmask")
    return Shape(
        collision.attrib["name"], volume, read_pose(collision).position_m, mask is None or int(mask) != 0, size
    )


def _joint(joint: ET.Element) -> Joint:
    if joint.attrib["type"] != "revolute" or joint.find("pose") is not None:
        raise ValueError(f"joint {joint.attrib['name']} is not a revolute one at its child's origin")
    axis = _child(_child(joint, "axis"), "xyz")
    if axis.attrib:
        raise ValueError(f"axis of {joint.attrib['name']} has {axis.attrib}, expected the child's frame")
    return Joint(joint.attrib["name"], joint.findtext("parent", ""), joint.findtext("child", ""), vector(axis.text))


def _camera(sensor: ET.Element, link: str) -> Camera:
    camera = _child(sensor, "camera")
    return Camera(
        name=sensor.attrib["name"],
        link=link,
        pose=read_pose(sensor),
        fov_rad=float(camera.findtext("horizontal_fov", "")),
        width=int(camera.findtext("image/width", "")),
        height=int(camera.findtext("image/height", "")),
        topic=sensor.findtext("topic"),
    )
