"""The built-in plant: any number of vehicles, each with its own parameters, stepped by compiled RK4."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import Composite
from shoal.codegen import Buffered
from shoal.messages.state import TWIST
from shoal.simulation.water import Field, still_water
from shoal.vehicles.actuators import Devices
from shoal.vehicles.curves import Curve
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import plant_step_function, thruster_structure
from shoal.vehicles.parameters import mass_matrix, parameter_vector, roomy_structure

Array = NDArray[np.float64]
MOST_MPS2 = 20.0  # no vehicle accelerates like that, whatever its thrusters
CurrentField = Callable[[float, Array], Array]  # (t_s, position NED) → current velocity NED, m/s


@dataclass(frozen=True)
class PlantVehicle:
    """What swims: a description and how good its thrusters are."""

    vehicle: Vehicle
    thrust_gain: Array  # (n,) true force per commanded force
    curves: tuple[Curve | None, ...] | None = None  # as they are, if not as described (another supply voltage)


class Plant:
    """State of all vehicles; `step` moves them on by a whole number of substeps. Joined ones move as one body."""

    def __init__(
        self,
        vehicles: Sequence[Vehicle | PlantVehicle],
        states: Array,
        current: CurrentField = still_water,
        substep_s: float = 0.01,
        use_compiler: bool = True,
    ) -> None:
        self.vehicles = [v if isinstance(v, PlantVehicle) else perfect(v) for v in vehicles]
        self.states = np.array(states, dtype=float)  # (V,13)
        # (n,) of each vehicle; of an azimuth, its thrust and its angle (rad) at the places of its two inputs.
        self.forces_N = [np.zeros(v.vehicle.input_count) for v in self.vehicles]
        self.current = current
        self.substep_s = substep_s
        self.t_s = 0.0
        self._use_compiler = use_compiler
        self._bodies = [_Body(v, substep_s, use_compiler) for v in self.vehicles]
        self._groups: dict[tuple[int, ...], _Group] = {}  # joined vehicles, by their indices
        self._alone = list(range(len(self.vehicles)))
        self._ticks = 0

    def join(self, members: Mapping[str, int], composite: Composite, state: Array) -> None:
        """From now on these vehicles, by their names in the composite, are one body with this state (13,)."""
        indices = tuple(members[name] for name in composite.poses)
        self.part(indices)
        entry = joined_vehicle(composite, [self.vehicles[i] for i in indices])
        group = _Group(indices, composite, _Body(entry, self.substep_s, self._use_compiler), state.copy())
        self._groups[indices] = group
        self._read_off(group)
        self._alone = self._free()

    def part(self, indices: Iterable[int]) -> None:
        """Groups that any of these belong to fall apart; every vehicle goes on with the velocity it has."""
        wanted = set(indices)
        self._groups = {key: group for key, group in self._groups.items() if wanted.isdisjoint(key)}
        self._alone = self._free()

    def push(self, index: int, impulse: Array) -> None:
        """An impulse (6,) in one vehicle's body frame: force and moment times time; on all that it is joined to."""
        for group in self._groups.values():
            if index in group.members:
                twist = list(group.composite.twists.values())[group.members.index(index)]
                group.state[TWIST] += np.linalg.solve(group.mass, twist.T @ impulse)
                self._read_off(group)
                return
        self.states[index, TWIST] += self._inverse_masses[index] @ impulse

    @cached_property
    def _inverse_masses(self) -> list[Array]:
        """(6,6) of each vehicle, with added mass."""
        return [np.asarray(np.linalg.inv(mass_matrix(v.vehicle)), dtype=np.float64) for v in self.vehicles]

    def hold(self, index: int, pose: Array) -> None:
        """Put one back to a pose (7,), at rest, and with it all that it is joined to."""
        self.states[index, :7], self.states[index, 7:] = pose, 0.0
        for key, group in self._groups.items():
            if index in key:
                name = list(group.composite.poses)[key.index(index)]
                group.state = group.composite.state_from(name, self.states[index])
                self._read_off(group)

    def step(self, commands_N: Sequence[Array] | Array, duration_s: float) -> Array:
        """Hold the commands for `duration_s`; returns the states (V,13). The current is sampled once a substep."""
        count = round(duration_s / self.substep_s)
        if count < 1 or abs(count * self.substep_s - duration_s) > 1e-9:
            raise ValueError(f"duration_s = {duration_s}, expected a multiple of the substep {self.substep_s} s")
        for i in self._alone:
            water = self._water(self.states[i], count)
            moved = self._bodies[i].moved(self.states[i], self.forces_N[i], np.asarray(commands_N[i]), count, water)
            self.states[i], self.forces_N[i] = moved
        for key, group in self._groups.items():
            forces = np.concatenate([self.forces_N[i] for i in key])
            command = np.concatenate([np.asarray(commands_N[i]) for i in key])
            water = self._water(group.state, count)
            group.state, forces = group.body.moved(group.state, forces, command, count, water)
            for i, part in zip(key, group.composite.inputs.values(), strict=True):
                self.forces_N[i] = forces[part]
            self._read_off(group)
        self._ticks += count
        self.t_s = self._ticks * self.substep_s
        return self.states

    def stepper(self, index: int, count: int, surface: bool = False) -> Buffered:
        """The step function of one vehicle with its numbers filled in; inputs are state, currents, command, …"""
        return self._bodies[index].stepper(count, surface)

    def _free(self) -> list[int]:
        joined = {i for key in self._groups for i in key}
        return [i for i in range(len(self.vehicles)) if i not in joined]

    def _read_off(self, group: _Group) -> None:
        found = group.composite.module_states(group.state)
        for i, state in zip(group.members, found.values(), strict=True):
            self.states[i] = state

    def _water(self, state: Array, count: int) -> Array | None:
        """The current (K,3) at one place: at 1 m/s and 10 Hz a vehicle moves 0.1 m until it is asked again."""
        if self.current is still_water:
            return None
        times_s: Array = np.arange(self._ticks, self._ticks + count, dtype=np.float64) * self.substep_s
        if isinstance(self.current, Field):
            return self.current.sample(times_s, state[:3])
        return np.array([self.current(float(t), state[:3]) for t in times_s])


class _Body:
    """What moves as one: its compiled step functions with its numbers filled in."""

    def __init__(self, entry: PlantVehicle, substep_s: float, use_compiler: bool) -> None:
        self._entry, self._substep_s, self._use_compiler = entry, substep_s, use_compiler
        self._steppers: dict[tuple[int, bool], Buffered] = {}
        self._reach_m = _reach_m(entry.vehicle)
        self._devices = Devices(entry.vehicle.thrusters, entry.curves)

    def moved(
        self, state: Array, force_N: Array, command_N: Array, count: int, water_mps: Array | None
    ) -> tuple[Array, Array]:
        """State (13,) and forces (n,) after so many substeps; `water_mps` (K,3), None: still."""
        stepper = self.stepper(count, self._near_surface(state, count * self._substep_s))
        before, currents, command = stepper.inputs[0], stepper.inputs[1], stepper.inputs[2]
        n = len(force_N)  # inputs that only fill up stay zero
        before[:13], before[13 : 13 + n] = state, force_N
        if water_mps is not None:
            currents[:] = water_mps.ravel()
        command[:n] = self._devices(command_N)
        stepper.call()
        return stepper.outputs[0][:13].copy(), stepper.outputs[0][13 : 13 + n].copy()

    def _near_surface(self, state: Array, duration_s: float) -> bool:
        """Whether any part of a submerged vehicle may come out of the water in this step: most runs need not ask."""
        if self._reach_m is None:
            return False
        speed_mps = abs(state[7]) + abs(state[8]) + abs(state[9])
        return bool(state[2] < self._reach_m + (speed_mps + MOST_MPS2 * duration_s) * duration_s)

    def stepper(self, count: int, surface: bool = False) -> Buffered:
        if (count, surface) not in self._steppers:
            entry = self._entry
            structure = roomy_structure(entry.vehicle, surface)
            room = structure.thruster_count
            stepper = Buffered(
                plant_step_function(structure, count, self._use_compiler, thruster_structure(entry.vehicle, room))
            )
            stepper.inputs[3][:] = parameter_vector(entry.vehicle, structure)
            stepper.inputs[4][:] = _thruster_columns(entry, room)
            stepper.inputs[5][:] = self._substep_s
            self._steppers[count, surface] = stepper
        return self._steppers[count, surface]


@dataclass
class _Group:
    """Joined vehicles: one body, of which the members' states are read off."""

    members: tuple[int, ...]
    composite: Composite
    body: _Body
    state: Array  # (13,) of the composite's frame

    @cached_property
    def mass(self) -> Array:
        """(6,6) with added mass."""
        return mass_matrix(self.composite.vehicle)


def joined_vehicle(composite: Composite, modules: Sequence[PlantVehicle]) -> PlantVehicle:
    """The composite with its modules' thrusters as they are."""
    gains = np.concatenate([entry.thrust_gain for entry in modules])
    curves = tuple(c for m in modules for c in (m.curves or (None,) * len(m.vehicle.thrusters)))
    return PlantVehicle(composite.vehicle, gains, curves)


def _reach_m(vehicle: Vehicle) -> float | None:
    """How far above the origin anything can be that loses buoyancy or thrust there; None: a vessel."""
    if vehicle.waterplane is not None:
        return None
    hull_m = float(np.linalg.norm(vehicle.cb_m)) + vehicle.size_m[2] / 2
    places_m = np.linalg.norm(vehicle.input_places_m, axis=1) + vehicle.input_propeller_m / 2
    return max(hull_m, float(places_m.max()))


def perfect(vehicle: Vehicle) -> PlantVehicle:
    """A vehicle whose thrusters give what is asked."""
    return PlantVehicle(vehicle, np.ones(vehicle.input_count))


def _thruster_columns(entry: PlantVehicle, room: int) -> Array:
    """Of each input, as `plant_step_function` wants them, and zeros up to `room`; what a curve does is done before."""
    rows = []
    for t in entry.vehicle.thrusters:
        limits = (0.0, t.max_forward_N) if t.kind == "azimuth" else (-t.max_reverse_N, t.max_forward_N)
        rows += [(*limits, t.time_constant_s, t.dead_band_N, 1.0, t.slew_radps, t.inflow_loss)] * t.inputs
    columns = np.array(rows).T
    columns[4] = entry.thrust_gain
    return np.asarray(np.pad(columns, ((0, 0), (0, room - columns.shape[1]))).ravel())
