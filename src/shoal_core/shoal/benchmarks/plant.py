"""Plant steps per second: machine code, CasADi's virtual machine and plain numpy, in one run on one core."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from shoal.benchmarks.plant_numpy import NumpyPlant
from shoal.benchmarks.result import Result, Row
from shoal.codegen import Buffered, compiler
from shoal.simulation.plant import Plant
from shoal.vehicles.description import load_vehicle

Array = NDArray[np.float64]
DT_S, SUBSTEPS = 0.01, 10
START = np.array([0, 0, 5.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
COMMAND = np.array([2.0, 2.5, 2.0, 2.5, 0.4, -0.6, -0.5, 0.5])


def run(quick: bool = False) -> Result:
    """Thrusters with lag, limits and dead band; ten steps a call, as in the simulator."""
    vehicle = load_vehicle("bluerov2_heavy", "wu2018")
    ways = {"compiled": _casadi(True), "CasADi VM": _casadi(False), "plain numpy": _numpy(NumpyPlant(vehicle))}
    ends = {label: way(100)[:13] for label, way in ways.items()}  # also warms up
    seconds = 0.1 if quick else 1.0
    rates = _rates(ways, seconds)
    slowest = rates["plain numpy"]
    rows = [Row(label, rate, "vehicle-steps/s", f"{rate / slowest:.1f} × numpy") for label, rate in rates.items()]
    rows.append(Row("compiled against numpy", rates["compiled"] / slowest, "×", "aim: ≥ 30"))
    rows.append(Row("compiled against CasADi VM", rates["compiled"] / rates["CasADi VM"], "×"))
    apart = max(float(np.abs(end - ends["plain numpy"]).max()) for end in ends.values())
    rows.append(Row("largest difference after 1 s", apart, "(SI)"))
    notes = () if compiler() else ("No C compiler found: 'compiled' is CasADi's virtual machine.",)
    return Result("plant", "Plant: 13 states, 8 thrusters, RK4 with dt = 0.01 s, one core", tuple(rows), notes)


def _casadi(use_compiler: bool) -> Callable[[int], Array]:
    """The plant's own function with its buffers; state and forces come round as the next input."""
    vehicle = load_vehicle("bluerov2_heavy", "wu2018")
    stepper: Buffered = Plant([vehicle], START[None], use_compiler=use_compiler).stepper(0, SUBSTEPS)
    stepper.inputs[2][:] = COMMAND

    def steps(count: int) -> Array:
        state, result, call = stepper.inputs[0], stepper.outputs[0], stepper.call
        state[:13], state[13:] = START, 0.0
        for _ in range(count // SUBSTEPS):
            call()
            state[:] = result
        return result.copy()

    return steps


def _numpy(plant: NumpyPlant) -> Callable[[int], Array]:
    def steps(count: int) -> Array:
        x, forces, current = START, np.zeros(len(COMMAND)), np.zeros(3)
        for _ in range(count):
            x, forces = plant.step(x, forces, COMMAND, current, DT_S)
        return np.concatenate([x, forces])

    return steps


def _rates(ways: dict[str, Callable[[int], Array]], seconds: float) -> dict[str, float]:
    """Best of five rounds, each way once a round: a disturbance only makes slower, and it meets all ways alike."""
    counts = {label: _enough(way, seconds / 5) for label, way in ways.items()}
    best = dict.fromkeys(ways, 0.0)
    for _ in range(5):
        for label, way in ways.items():
            best[label] = max(best[label], counts[label] / _time(way, counts[label]))
    return best


def _enough(way: Callable[[int], Array], seconds: float) -> int:
    """How many steps take about that long."""
    count = SUBSTEPS
    while (took := _time(way, count)) < seconds / 10:
        count *= 2
    return SUBSTEPS * max(1, round(count * seconds / took / SUBSTEPS))


def _time(way: Callable[[int], Array], count: int) -> float:
    began = perf_counter()
    way(count)
    return perf_counter() - began
