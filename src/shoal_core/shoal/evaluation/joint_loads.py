"""What the joints of a run had to carry: of assemblies in the fleet file, and of vehicles joined on their way.

From the recorded motion and thrust by the constraint engine, with the vehicles' described numbers: what the perturbed
plant really felt is not in a recording. Who is joined shows in the truth: one pose stays fixed in the other's frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import Composite
from shoal.assembly.constraints import ConstraintEngine
from shoal.assembly.file import load_assembly
from shoal.assembly.joints import Assembly, Joint
from shoal.fleet.file import Fleet
from shoal.frames import matrix
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Recording
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
INSTANTS = 400  # looked at, evenly spread
NEAR_M = 2.0  # between the origins; further apart nobody is joined
FIXED_M, FIXED_S = 1e-6, 1.0  # a pose that stays within this for so long is held by a joint
Pair = tuple[str, str]


@dataclass(frozen=True)
class JointLoads:
    """T instants, J joints; NaN while a joint is open."""

    times_s: Array  # (T,)
    pairs: tuple[Pair, ...]  # (J)
    force_N: Array  # (T,J) size of the force at the shared point
    moment_Nm: Array  # (T,J)


@dataclass(frozen=True)
class _Part:
    """A module, and where its state and its thrust are in the recording."""

    name: str
    vehicle: Vehicle
    column: int
    inputs: slice
    composite: Composite | None  # None: it is a vehicle of its own


def joint_loads(recording: Recording, fleet: Fleet) -> JointLoads | None:
    """None if nobody was joined to anybody, or the fleet is another one."""
    counts = {m.name: m.vehicle().input_count for m in fleet.vehicles}
    if {name: recording.thrust_N[name].shape[1] for name in recording.names} != counts:
        return None
    parts, drawn = _parts(recording, fleet)
    thrust = [_produced(recording, i, fleet) for i in range(len(recording.names))]
    kept = np.unique(np.linspace(0, len(recording.times_s) - 1, INSTANTS).astype(int))
    found = [_fixed_pairs(recording, k) for k in kept]
    pairs = dict.fromkeys([(j.a, j.b) for j in drawn] + [pair for at in found for pair in at])
    if not pairs:
        return None
    column = {pair: i for i, pair in enumerate(pairs)}
    force, moment = (np.full((len(kept), len(pairs)), np.nan) for _ in range(2))
    engines: dict[tuple[Pair, ...], ConstraintEngine] = {}
    for row, (k, there) in enumerate(zip(kept, found, strict=True)):
        states = np.array([_state(recording, k, part) for part in parts])
        if (not there and not drawn) or not np.isfinite(states).all():
            continue
        key = tuple(there)
        if key not in engines:
            engines[key] = _engine(parts, drawn, there, states)
        for pair, load in _loads(engines[key], parts, recording, k, states, thrust).items():
            force[row, column[pair]] = np.linalg.norm(load[:3])
            moment[row, column[pair]] = np.linalg.norm(load[3:])
    return JointLoads(recording.times_s[kept], tuple(pairs), force, moment)


def _parts(recording: Recording, fleet: Fleet) -> tuple[list[_Part], list[Joint]]:
    """All modules, with the joints that are drawn between them."""
    parts: list[_Part] = []
    joints: list[Joint] = []
    members = {member.name: member for member in fleet.vehicles}
    for column, name in enumerate(recording.names):
        member = members[name]
        if member.assembly is None:
            vehicle = member.vehicle()
            parts.append(_Part(name, vehicle, column, slice(0, vehicle.input_count), None))
            continue
        file = load_assembly(member.assembly)
        graph, composite = file.assembly(), file.composite()
        alone = len(members) == 1
        names = {module: module if alone else f"{name}.{module}" for module in graph.modules}
        parts += [_Part(names[m], v, column, composite.inputs[m], composite) for m, v in graph.modules.items()]
        joints += [Joint(names[j.a], names[j.b], j.at_a_m, j.at_b_m, j.attitude) for j in graph.joints]
    return parts, joints


def _produced(recording: Recording, column: int, fleet: Fleet) -> Array:
    """(T,n) what came of the commands after each thruster's lag, as described."""
    name = recording.names[column]
    commanded = np.nan_to_num(recording.thrust_N[name])
    vehicle = next(m for m in fleet.vehicles if m.name == name).vehicle()
    steps_s = np.diff(recording.times_s, prepend=recording.times_s[0])
    made, now = np.empty_like(commanded), np.zeros(commanded.shape[1])
    for k, step_s in enumerate(steps_s):
        made[k] = now = now + (1 - np.exp(-step_s / np.maximum(vehicle.input_lag_s, 1e-6))) * (commanded[k] - now)
    return made


def _fixed_pairs(recording: Recording, k: int) -> list[Pair]:
    """Vehicles of which one keeps its pose in the other's frame from this instant on; loops are left out."""
    later = int(np.searchsorted(recording.times_s, recording.times_s[k] + FIXED_S))
    if later >= len(recording.times_s):
        return []
    now, then = recording.states[k], recording.states[later]
    names, near = recording.names, []
    for i, j in combinations(range(len(names)), 2):
        apart_m = float(np.linalg.norm(now[i, POSITION] - now[j, POSITION]))
        if apart_m < NEAR_M and np.abs(_relative(now[i], now[j]) - _relative(then[i], then[j])).max() < FIXED_M:
            near.append((apart_m, names[i], names[j]))
    found: list[Pair] = []
    group = {name: name for name in names}
    for _, a, b in sorted(near):  # neighbours first: joints are between those
        if group[a] != group[b]:
            found.append((a, b))
            group = {name: group[a] if g == group[b] else g for name, g in group.items()}
    return found


def _relative(a: Array, b: Array) -> Array:
    """(12,) pose of B in A's frame."""
    back = matrix(a[ATTITUDE]).T
    return np.concatenate([back @ (b[POSITION] - a[POSITION]), (back @ matrix(b[ATTITUDE])).ravel()])


def _state(recording: Recording, k: int, part: _Part) -> Array:
    whole = recording.states[k, part.column]
    if part.composite is None:
        return whole
    modules = part.composite.module_states(whole)
    return modules[next(m for m in modules if part.name == m or part.name.endswith(f".{m}"))]


def _engine(parts: list[_Part], drawn: list[Joint], pairs: list[Pair], states: Array) -> ConstraintEngine:
    """Those joined on their way are joined as they lie, half-way between their origins."""
    index = {part.name: i for i, part in enumerate(parts)}
    joints = list(drawn)
    for a, b in pairs:
        one, other = states[index[a]], states[index[b]]
        half = matrix(one[ATTITUDE]).T @ (other[POSITION] - one[POSITION]) / 2
        joints.append(Joint.between(a, b, one, other, half))
    return ConstraintEngine(Assembly({p.name: p.vehicle for p in parts}, tuple(joints)), stabilise_per_s=0.0)


def _loads(
    engine: ConstraintEngine, parts: list[_Part], recording: Recording, k: int, states: Array, thrust: list[Array]
) -> dict[Pair, Array]:
    wrenches = np.array([p.vehicle.input_matrix @ thrust[p.column][k, p.inputs] for p in parts])
    current = recording.current_mps[k, parts[0].column]  # the engine knows one for all: joined ones are near each other
    return engine.joint_loads(states, engine.free_accelerations(states, wrenches, current))
