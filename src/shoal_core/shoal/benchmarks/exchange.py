"""Another vehicle in flight: one BlueROV2 becomes two joined ones and one again, 8 → 16 → 8 inputs."""

from __future__ import annotations

import time

import numpy as np

from shoal.assembly.file import load_assembly
from shoal.benchmarks.result import Result, Row
from shoal.control.registry import load_controller_file
from shoal.fleet.agent_settings import Timing
from shoal.fleet.file import load_fleet
from shoal.fleet.placement import assign
from shoal.fleet.runtime import VehicleRuntime
from shoal.fleet.setup import load_role, make_runtime, runtime_settings, settings_of
from shoal.messages.health import Mode
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal.simulation.plant import Plant
from shoal.vehicles.description import Vehicle

PERIOD_S, BETWEEN_S = 0.05, 3.0
SPEED_MPS = np.array([0.2, 0.0, 0.0])


class Flight:
    """A runtime and the water; the body in the water is exchanged along with the one that is believed."""

    def __init__(self) -> None:
        fleet, file = load_fleet("one"), load_controller_file("nmpc")
        member = fleet.vehicles[0]
        self.single, self.start_m = member.vehicle(), np.array(member.start_m)
        self.runtime: VehicleRuntime = make_runtime(
            load_role(fleet, member.name),
            self.single,
            file,
            settings_of(file, fleet),
            runtime_settings(file, {}),
            Timing(PERIOD_S),
            lambda: 0.0,
        )
        self.runtime.on_formation(assign(fleet, fleet.formation, {member.name: self.start_m}, self.start_m))
        self.plant = Plant([self.single], member.start_state().array[None])
        self.thrust_N, self.steps = np.zeros(self.single.input_count), 0
        self.steered, self.jump_N = True, 0.0  # in every step; largest change of an input by an exchange

    def become(self, vehicle: Vehicle) -> float:
        """CPU seconds until the next period's thrust is there, by the new vehicle."""
        forces_N = self.plant.forces_N[0].copy()
        self.plant = Plant([vehicle], self.plant.states[0][None].copy())
        count = min(len(forces_N), vehicle.input_count)
        self.plant.forces_N[0][:count] = forces_N[:count]  # the first module's go on as they were
        before_N, started = self.thrust_N[:count], time.process_time()
        self.runtime.set_vehicle(vehicle)
        self.step()
        taken_s = time.process_time() - started
        self.steered &= len(self.thrust_N) == vehicle.input_count  # the next step is the new vehicle's
        self.jump_N = max(self.jump_N, float(np.abs(self.thrust_N[:count] - before_N).max()))
        return taken_s

    def fly(self, duration_s: float) -> None:
        """Along a straight line."""
        for _ in range(round(duration_s / PERIOD_S)):
            self.step()

    def step(self) -> None:
        """One control period."""
        t_s = self.steps * PERIOD_S
        times_s = t_s + np.arange(0.0, 4.05, 0.1)
        places_m = self.start_m + times_s[:, None] * SPEED_MPS
        self.runtime.on_reference(Preview(times_s, places_m, np.tile(SPEED_MPS, (len(times_s), 1)), 0.0 * times_s))
        self.runtime.on_odometry(Odometry(t_s, self.plant.states[0].copy()), t_s)
        command = self.runtime.tick(t_s)
        if command is None or command.health.mode is not Mode.CONTROLLER:
            self.steered = False
        if command is not None:
            self.thrust_N = command.thrust_N
        self.plant.step(self.thrust_N[None], PERIOD_S)
        self.steps += 1

    @property
    def off_m(self) -> float:
        """Distance from the line's point of now."""
        place_m = self.start_m + self.steps * PERIOD_S * SPEED_MPS
        return float(np.linalg.norm(self.plant.states[0][:3] - place_m))


def run(quick: bool = False) -> Result:
    """CPU time of each exchange with what it brings about in the next step; the solvers are compiled before."""
    pair = load_assembly("pair").composite().vehicle
    warm = Flight()
    warm.become(pair)
    flight = Flight()
    flight.fly(BETWEEN_S)
    taken_s: dict[int, list[float]] = {16: [], 8: []}
    off_m = 0.0
    for _ in range(2 if quick else 10):
        for vehicle in (pair, flight.single):
            taken_s[vehicle.input_count].append(flight.become(vehicle))
            flight.fly(BETWEEN_S)
            off_m = max(off_m, flight.off_m)
    rows = [
        Row(f"to {count} inputs, median (largest)", 1e3 * float(np.median(s)), "ms", f"({1e3 * max(s):.0f})")
        for count, s in taken_s.items()
    ]
    rows.append(Row("largest change of an input at an exchange", flight.jump_N, "N"))
    rows.append(Row("distance from the line, 3 s after each", 100 * off_m, "cm", "largest"))
    rows.append(Row("every step steered by the controller", float(flight.steered), "", "1: yes"))
    note = "CPU time from the order to the next period's thrust, which is the new vehicle's; solvers in the cache."
    return Result("exchange", "Another vehicle in flight: 8 → 16 → 8 inputs", tuple(rows), (note,))
