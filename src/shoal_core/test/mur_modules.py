"""Modules and assemblies of the constraint tests: Table 3.3 of Nielsen 2018, rods, chains and rings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.joints import Assembly, Joint, Pose
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.vehicles.description import Vehicle
from vehicles_for_tests import shipped

Array = NDArray[np.float64]
SAME = np.array([1.0, 0.0, 0.0, 0.0])
QUARTER = float(np.sqrt(0.5))
# Relative attitude of module B in Case A: 90° of roll; and the rod's direction seen from B (A's −y axis is B's +z).
TURNED = (np.array([QUARTER, QUARTER, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))


def module(
    added_mass: bool,
    inertia: float = 0.001,
    righting: bool = True,
    surge_drag: float = 5.0,
    cross_drag: float = 5.0,
) -> Vehicle:
    """Table 3.3 of Nielsen 2018: 20 kg, linear drag only, centre of buoyancy 0.1 m above that of mass."""
    return replace(
        shipped("wu2018"),
        mass_kg=20.0,
        weight_N=20 * 9.81,
        buoyancy_N=20 * 9.81,
        inertia_kgm2=np.eye(3) * inertia,
        cg_m=np.zeros(3),
        cb_m=np.array([0.0, 0.0, -0.1]) * righting,
        added_mass=np.diag([2.5] * 3 + [0.0005] * 3) * added_mass,
        linear_damping=np.diag([surge_drag, cross_drag, cross_drag] + [0.001] * 3),
        quadratic_damping=np.zeros((6, 6)),
    )


def rod(
    length_m: float,
    turned: tuple[Array, Array] | None,
    added_mass: bool,
    surge_drag_b: float = 5.0,
    cross_drag: float = 5.0,
) -> Assembly:
    """Two modules at the ends of a massless rod along A's y axis."""
    a = module(added_mass, cross_drag=cross_drag)
    b = module(added_mass, surge_drag=surge_drag_b, cross_drag=cross_drag)
    half = np.array([0.0, length_m / 2, 0.0])
    if turned is None:
        joint = Joint("a", "b", half, -half)
    else:
        joint = Joint("a", "b", half, turned[1] * length_m / 2, turned[0])
    return Assembly({"a": a, "b": b}, (joint,))


def joined_in_a_row(count: int, closed: bool = False, alike: bool = False) -> Assembly:
    """A chain, 1 m from one to the next, each turned against the last; `alike`: equal and straight."""
    rng = np.random.default_rng(7)
    base = shipped("wu2018")
    modules, joints, last = {}, [], Pose(np.zeros(3), SAME)
    for i in range(count):
        modules[f"m{i}"] = base if alike else base.scaled(added_mass=1 + 0.1 * i, damping=1 + 0.2 * i)
        if i:
            turn = SAME if alike else rng.normal(size=4) * 0.3 + SAME
            ends = np.array([0.5, 0.0, 0.0]), np.array([-0.5, 0.0, 0.0])
            joints.append(Joint(f"m{i - 1}", f"m{i}", *ends, turn / np.linalg.norm(turn)))
            last = last.then(joints[-1].pose)
    if closed:
        point = np.array([0.1, 0.2, 0.0])
        on_last = last.inverse().then(Pose(point, SAME)).position_m
        joints.append(Joint("m0", f"m{count - 1}", point, on_last, last.attitude))
    return Assembly(modules, tuple(joints))


def stacked(assembly: Assembly, rng: np.random.Generator | None = None) -> Array:
    """States (N,13) of modules in their places; at rest, or turning and moving as one at random."""
    poses = assembly.poses(assembly.groups()[0])
    q = np.array([1.0, 0.0, 0.0, 0.0]) if rng is None else rng.standard_normal(4)
    root = Pose(np.zeros(3) if rng is None else rng.uniform(-5, 5, 3), q / np.linalg.norm(q))
    v, w = (np.zeros(3), np.zeros(3)) if rng is None else (rng.normal(size=3) * 0.5, rng.normal(size=3) * 0.5)
    states = np.zeros((len(assembly.modules), 13))
    for i, name in enumerate(assembly.modules):
        pose = root.then(poses[name])
        states[i][POSITION], states[i][ATTITUDE] = pose.position_m, pose.attitude
        twist = poses[name].twist() @ np.concatenate([v, w])
        states[i][VELOCITY], states[i][RATE] = twist[:3], twist[3:]
    return states
