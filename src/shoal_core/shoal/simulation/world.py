"""The simulated sea: vehicles, water, sensors and faults. The only plant: lock-step simulator and ROS node own one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.composite import compose
from shoal.assembly.file import load_assembly
from shoal.assembly.joints import Assembly, Joint
from shoal.errors import ShoalError
from shoal.fleet.file import Fleet, Member
from shoal.frames import matrix
from shoal.messages.geometry import distances_m
from shoal.messages.joining import Joining, Ownership
from shoal.messages.odometry import Odometry
from shoal.messages.scan import Scan
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.simulation.command_queue import CommandQueue
from shoal.simulation.conditions import Condition
from shoal.simulation.connectors import Connectors
from shoal.simulation.docks import Docks
from shoal.simulation.faults import Faults
from shoal.simulation.navigation_errors import jumps_of
from shoal.simulation.perturbation import perturbed
from shoal.simulation.plant import Plant, PlantVehicle, joined_vehicle
from shoal.simulation.relative_sensor import RelativeSensors
from shoal.simulation.sensors import OdometrySensor
from shoal.simulation.water import Constant, Field, build_current
from shoal.simulation.wind import Wind
from shoal.vehicles.hull_points import hull_points_m

Array = NDArray[np.float64]
COMMAND_TIMEOUT_S = 0.5  # older commands count as zero


class World:
    """States of all vehicles and what they measure. All that is random about it is drawn from the seed."""

    def __init__(
        self,
        fleet: Fleet,
        start: Mapping[str, State],
        condition: Condition,
        seed: int,
        control_period_s: float,
        lasting_s: float,
        current: Field | None = None,
        command_timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> None:
        """`lasting_s`: for which random currents are drawn, then they hold. `current`: instead of the condition's."""
        self.fleet, self.condition, self.names = fleet, condition, fleet.names
        rng, water_rng = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
        vehicles = [_as_it_is(member, condition, rng) for member in fleet.vehicles]
        water = build_current(condition.environment, water_rng, lasting_s) if current is None else current
        states = np.array([start[name].array for name in self.names])
        self.plant = Plant(vehicles, states, water)
        # As they are, and how they are joined.
        self.assembly = Assembly({name: v.vehicle for name, v in zip(self.names, vehicles, strict=True)})
        substeps = control_period_s / self.plant.substep_s
        if round(substeps) < 1 or abs(substeps - round(substeps)) > 1e-6:
            raise ShoalError(
                f"control_period_s = {control_period_s:g}: cannot be simulated; "
                f"expected a multiple of the plant's {self.plant.substep_s:g} s"
            )
        self.command_delay_s = condition.control_delay_periods * control_period_s
        self.faults = Faults(condition.faults, self.names, [v.vehicle for v in vehicles])
        sensors = condition.sensors
        self._sensors = {
            name: OdometrySensor(
                sensors.model_copy(update={"jumps": jumps_of(sensors.jumps, i)}),
                np.random.default_rng([seed, 3, i]),
                self.faults.of_sensors(name),
            )
            for i, name in enumerate(self.names)
        }
        self.queues = {
            name: CommandQueue(v.vehicle.input_count, self.command_delay_s, command_timeout_s, self._late(name))
            for name, v in zip(self.names, vehicles, strict=True)
        }
        self._wind = Wind(condition.environment.wind_N, [v.vehicle for v in vehicles])
        self._relative = RelativeSensors(condition.sensors.relative, self.names, np.random.default_rng([seed, 7]))
        self._hulls_m = [hull_points_m(v.vehicle) for v in vehicles]
        self._close: set[tuple[str, str]] = set()
        self.docks = Docks(self.plant, self.names, condition.sensors.fiducial, seed, self.faults)
        self.connectors: Connectors | None = None  # of a task whose vehicles touch and latch
        self._joined_before: frozenset[str] = frozenset()  # members by the last order

    def _late(self, name: str) -> Callable[[float], float] | None:
        return partial(self.faults.late_s, name) if self.faults else None

    @property
    def t_s(self) -> float:
        return self.plant.t_s

    @property
    def states(self) -> Array:
        """(V,13) the truth."""
        return self.plant.states

    def truth(self) -> dict[str, State]:
        """Of each vehicle."""
        return {name: State(state.copy()) for name, state in zip(self.names, self.plant.states, strict=True)}

    def current_at(self, t_s: float, position_m: Array) -> Array:
        """(3,) NED."""
        return self.plant.current(t_s, position_m)

    def set_current(self, velocity_mps: Array) -> None:
        """The same everywhere from now on (NED), instead of the condition's."""
        self.plant.current = Constant(velocity_mps.tolist())

    def command(
        self, name: str, thrust_N: Array, answers_s: float, arrived_s: float, by: Ownership | None = None
    ) -> None:
        """Thrust for one vehicle; acts after the condition's delay, if `by` owns it."""
        self.queues[name].command(arrived_s, answers_s, thrust_N, by)

    def step(self, duration_s: float, stopped: bool = False) -> None:
        """Move everybody on. `stopped`: zero thrust for all, whatever was commanded."""
        t_s, substep_s = self.t_s, self.plant.substep_s
        near = self.connectors is not None and self.connectors.near(self.groups)
        still = not near and not self.docks.near
        if still and not any(queue.changes_within(t_s, duration_s) for queue in self.queues.values()):
            self._move(duration_s, stopped)
            return
        for _ in range(round(duration_s / substep_s)):  # a command takes effect on the way
            self._move(substep_s, stopped)
            if near and self.connectors is not None:
                for a, b in self.connectors.act(substep_s, self.groups):
                    if not any(a in group and b in group for group in self.groups):  # closed by the one before
                        self.attach(a, b)
                        self._close_alongside(a)

    def _move(self, duration_s: float, stopped: bool) -> None:
        t_s, faults, frozen = self.t_s, self.faults, {}
        thrust = [queue.acting(t_s) for queue in self.queues.values()]
        if stopped:
            thrust = [np.zeros_like(force) for force in thrust]
        if faults:
            for i, name in enumerate(self.names):
                thrust[i] = faults.asked_N(name, t_s, thrust[i])
                if faults.thrusters_dead(name, t_s):
                    thrust[i] = np.zeros_like(thrust[i])
                if faults.joints_broken(name, t_s):
                    self._break_joints(name)
                if faults.frozen(name, t_s):
                    frozen[i] = self.plant.states[i, :7].copy()
        if self._wind:
            self._wind.blow(self.plant, duration_s)
        self.plant.step(thrust, duration_s)
        for i, pose in frozen.items():
            self.plant.hold(i, pose)
        if self.docks.near:
            for latch in self.docks.act(t_s, duration_s):
                self.attach(latch.leader, latch.follower, latch.at_leader_m)

    # -- joining and parting ------------------------------------------------------------------------------------

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Who moves as one body; without those that swim alone."""
        return tuple(group for group in self.assembly.groups() if len(group) > 1)

    def attach(self, a: str, b: str, at_a_m: Array | None = None) -> None:
        """Join two vehicles rigidly, as they lie, at a point of A (None: halfway); linear and angular momentum stay.

        Vehicles that they are joined to already come along.
        """
        self._check_pair("attach", a, b)
        if any(joint.pair == {a, b} for joint in self.assembly.joints):
            raise ShoalError(f"attach: '{a}' and '{b}' are joined already; expected a pair that is not")
        states = dict(zip(self.names, self.states, strict=True))
        if at_a_m is None:
            at_a_m = matrix(states[a][ATTITUDE]).T @ (states[b][POSITION] - states[a][POSITION]) / 2
        self._join(self.assembly.attach(Joint.between(a, b, states[a], states[b], at_a_m)))

    def _close_alongside(self, name: str) -> None:
        """All other magnets of the group that lie against each other hold as well."""
        assert self.connectors is not None
        group = next(group for group in self.groups if name in group)
        there = {joint.pair for joint in self.assembly.joints}
        for a, b in self.connectors.side_by_side(group):
            if frozenset((a, b)) not in there:
                self.attach(a, b)

    def carry_out(self, joining: Joining) -> None:
        """An order, where magnets catch by themselves: they are on between partners, and let go of all others.

        Whoever is neither in one group with another nor about to be parts from it.
        """
        assert self.connectors is not None
        self.connectors.arm(joining.partners if joining.magnets is None else joining.magnets)
        drawn = (Joint(j.a, j.b, j.at_a_m, j.at_b_m, j.attitude) for j in joining.joints)
        wanted = [set(group) for group in Assembly(dict(self.assembly.modules), tuple(drawn)).groups()]
        berthing = {name for group in joining.partners for name in group}
        member = {name for group in wanted if len(group) > 1 for name in group}
        left = set(self._left(joining))
        for joint in self.assembly.joints:
            together = any(joint.pair <= group for group in wanted)
            caught = joint.pair <= berthing and not joint.pair <= member and not joint.pair & left
            if not together and not caught:
                self.detach(joint.a, joint.b)
                self.connectors.let_go(joint.pair)
        self._joined_before = frozenset(member)

    def _left(self, joining: Joining) -> frozenset[str]:
        """Who was a member with the order before and is none now."""
        member = {name for joint in joining.joints for name in joint.pair}
        return self._joined_before - member

    def detach(self, a: str, b: str) -> None:
        """Part two vehicles; every one goes on with the velocity it has."""
        self._check_pair("detach", a, b)
        self._join(self.assembly.detach(a, b))
        self.docks.release(a, b)

    def _break_joints(self, name: str) -> None:
        """By a fault: whoever believes them to hold has to find out."""
        for joint in [j for j in self.assembly.joints if name in j.pair]:
            self.detach(joint.a, joint.b)

    def set_joints(self, joints: Sequence[tuple[str, str, Array | None]]) -> None:
        """These joints and no others, by A, B and a point of A; what is there already stays as it is."""
        wanted, there = {frozenset((a, b)) for a, b, _ in joints}, {j.pair for j in self.assembly.joints}
        for a, b, _ in joints:
            self._check_pair("attach", a, b)
        for joint in [j for j in self.assembly.joints if j.pair not in wanted]:
            self.detach(joint.a, joint.b)
        for a, b, at_a_m in joints:
            if frozenset((a, b)) not in there:
                self.attach(a, b, at_a_m)

    def _check_pair(self, what: str, a: str, b: str) -> None:
        for name in (a, b):
            if name not in self.names:
                raise ShoalError(f"{what}: '{name}' is unknown; expected one of {', '.join(self.names)}")
        if a == b:
            raise ShoalError(f"{what}: '{a}' and itself; expected two different vehicles")

    def _join(self, assembly: Assembly) -> None:
        """Make the plant's bodies those of the assembly; groups that stay as they are go on undisturbed."""
        before, index = set(self.groups), {name: i for i, name in enumerate(self.names)}
        states = {name: state.copy() for name, state in zip(self.names, self.states, strict=True)}
        after = [group for group in assembly.groups() if len(group) > 1]
        made = [compose(assembly, group) for group in after if group not in before]  # may refuse
        self.assembly = assembly
        for group in before - set(after):
            self.plant.part(index[name] for name in group)
        for composite in made:
            self.plant.join(index, composite, composite.joined(assembly.modules, states))

    def measure(self) -> dict[str, Odometry | None]:
        """Everybody's newest odometry; None: none has arrived yet. Once for each instant, or the noise differs."""
        t_s = self.t_s
        for sensor, state in zip(self._sensors.values(), self.plant.states, strict=True):
            sensor.push(t_s, state)
        return {name: sensor.latest(t_s) for name, sensor in self._sensors.items()}

    def newest_odometry(self) -> dict[str, Odometry | None]:
        """What `measure` gave last, without a new measurement."""
        return {name: sensor.latest(self.t_s) for name, sensor in self._sensors.items()}

    def scans(self) -> dict[str, Scan]:
        """What everybody sees of the others; empty between two looks. Once for each instant."""
        return self._relative.scans(self.t_s, self.plant.states)

    def near_misses(self) -> list[str]:
        """Sentences about pairs that have come closer than the hard distance, or parted again, since the last call."""
        hard_m, joined, found = self.fleet.distance.hard_m, self.groups, []
        apart_m = distances_m(self.states[None], self._hulls_m)[0].tolist()
        for (a, b), distance_m in zip(combinations(self.names, 2), apart_m, strict=True):
            if any(a in group and b in group for group in joined):
                self._close.discard((a, b))
            elif distance_m < hard_m and (a, b) not in self._close:
                self._close.add((a, b))
                found.append(f"{a} and {b} are {distance_m:.2f} m apart at {self.t_s:.2f} s, closer than {hard_m:g} m")
            elif distance_m > 1.1 * hard_m and (a, b) in self._close:
                self._close.remove((a, b))
                found.append(f"{a} and {b} are clear of each other again at {self.t_s:.2f} s")
        return found


def _as_it_is(member: Member, condition: Condition, rng: np.random.Generator) -> PlantVehicle:
    """What swims. Modules of an assembly differ from their descriptions one by one, then they are joined."""
    if member.assembly is None:
        return perturbed(member.vehicle(condition.plant.parameter_set), condition.plant, rng)
    if condition.plant.parameter_set is not None:
        member.vehicle(condition.plant.parameter_set)  # refuses it
    file = load_assembly(member.assembly)
    modules = {name: perturbed(entry.vehicle(), condition.plant, rng) for name, entry in file.modules.items()}
    composite = file.composite({name: entry.vehicle for name, entry in modules.items()})
    return joined_vehicle(composite, list(modules.values()))
