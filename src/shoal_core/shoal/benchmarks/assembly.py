"""Joined modules: RK4 steps per second of the composite and of the constraint engine, in one run on one core."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.compiled_engine import CompiledEngine
from shoal.assembly.composite import compose
from shoal.assembly.constraints import ConstraintEngine
from shoal.assembly.joints import Assembly, Joint
from shoal.benchmarks.result import Result, Row
from shoal.codegen import compiler
from shoal.frames import from_euler
from shoal.messages.state import POSITION
from shoal.simulation.plant import Plant
from shoal.vehicles.description import load_vehicle

Array = NDArray[np.float64]
DT_S, SUBSTEPS, ROUNDS = 0.01, 10, 5
LONG_S = 600.0
AIMS = {5: 400_000, 20: 100_000}
Way = Callable[[int], Array]  # so many steps; positions (N,3) of the modules at their end


def tree(count: int, seed: int = 1) -> Assembly:
    """Every module joined to one at random, turned and tilted, no two alike."""
    rng, base = np.random.default_rng(seed), load_vehicle("bluerov2_heavy", "wu2018")
    modules = {f"m{i}": base.scaled(*rng.uniform(0.8, 1.2, 4)) for i in range(count)}
    joints = tuple(
        Joint(f"m{rng.integers(i)}", f"m{i}", rng.uniform(-0.5, 0.5, 3), rng.uniform(-0.5, 0.5, 3),
              from_euler(*rng.uniform(-1, 1, 3).tolist()))
        for i in range(1, count)
    )  # fmt: skip
    return Assembly(modules, joints)


def run(quick: bool = False) -> Result:
    """Trees of 5 and 20 different modules under constant thrust."""
    rows: list[Row] = []
    for count in (5,) if quick else (5, 20):
        ways = _ways(tree(count))
        ends = {label: way(100) for label, way in ways.items()}  # also warms up
        rates = _rates(ways, 0.1 if quick else 1.0)
        for label, rate in rates.items():
            note = (
                f"aim: ≥ {AIMS[count]:,}" if label == "composite" else f"composite: {rates['composite'] / rate:.1f} ×"
            )
            rows.append(Row(f"{count} modules, {label}", rate, "steps/s", note))
        apart_m = max(float(np.abs(end - ends["composite"]).max()) for end in ends.values())
        rows.append(Row(f"{count} modules, largest difference after 1 s", apart_m, "m"))
        if not quick:
            labels = "composite", "engine, compiled (tree, LDLᵀ)"
            here, there = (ways[label](round(LONG_S / DT_S)) for label in labels)
            apart_m = float(np.linalg.norm(here - there, axis=1).max())
            rows.append(
                Row(f"{count} modules, composite and compiled engine apart after 10 min", apart_m, "m", "aim: ≤ 1e-5")
            )
    notes = () if compiler() else ("No C compiler found: all of it is interpreted.",)
    return Result("assembly", "Joined modules: RK4 with dt = 0.01 s, one core, CPU time", tuple(rows), notes)


def _ways(assembly: Assembly) -> dict[str, Way]:
    return {
        "composite": _composite(assembly),
        "engine, compiled (tree, LDLᵀ)": _engine(assembly, CompiledEngine(assembly)),
        "engine, numpy (tree)": _engine(assembly, ConstraintEngine(assembly, method="tree")),
        "engine, numpy (pseudo-inverse)": _engine(assembly, ConstraintEngine(assembly)),
    }


def _thrust(assembly: Assembly) -> list[Array]:
    rng = np.random.default_rng(5)
    return [rng.uniform(-3, 3, m.input_count) for m in assembly.modules.values()]


def _start(assembly: Assembly) -> tuple[Array, Array]:
    """States of the composite (13,) and of its modules (N,13), at rest in 5 m."""
    composite = compose(assembly, tuple(assembly.modules))
    whole = np.array([0, 0, 5.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    return whole, np.array(list(composite.module_states(whole).values()))


def _composite(assembly: Assembly) -> Way:
    """The plant's own function: thrusters included, without lag and dead band, as the engine has them."""
    composite = compose(assembly, tuple(assembly.modules))
    whole, _ = _start(assembly)
    stepper = Plant([composite.vehicle], whole[None]).stepper(0, SUBSTEPS)
    thrust_N = np.concatenate(_thrust(assembly))
    n, room = len(thrust_N), len(stepper.inputs[2])  # inputs that only fill up stay zero
    stepper.inputs[2][:n] = thrust_N
    thruster = stepper.inputs[4].reshape(-1, room)  # columns one after the other
    thruster[2:4] = 0.0  # neither lag nor dead band

    def steps(count: int) -> Array:
        state, result, call = stepper.inputs[0], stepper.outputs[0], stepper.call
        state[:13], state[13 : 13 + n] = whole, thrust_N
        for _ in range(count // SUBSTEPS):
            call()
            state[:] = result
        return np.array([own[POSITION] for own in composite.module_states(result[:13]).values()])

    return steps


def _engine(assembly: Assembly, engine: ConstraintEngine | CompiledEngine) -> Way:
    _, start = _start(assembly)
    given = zip(assembly.modules.values(), _thrust(assembly), strict=True)
    wrenches = np.array([m.input_matrix @ u for m, u in given])

    def steps(count: int) -> Array:
        states = start
        for _ in range(count):
            states = engine.step(states, wrenches, DT_S)
        return np.asarray(states[:, POSITION])

    return steps


def _rates(ways: dict[str, Way], seconds: float) -> dict[str, float]:
    """Best of five rounds, each way once a round: a disturbance only makes slower, and it meets all ways alike."""
    counts = {label: _enough(way, seconds / ROUNDS) for label, way in ways.items()}
    best = dict.fromkeys(ways, 0.0)
    for _ in range(ROUNDS):
        for label, way in ways.items():
            best[label] = max(best[label], counts[label] / _time(way, counts[label]))
    return best


def _enough(way: Way, seconds: float) -> int:
    """How many steps take about that long."""
    count = SUBSTEPS
    while (took := _time(way, count)) < seconds / 10:
        count *= 2
    return SUBSTEPS * max(1, round(count * seconds / took / SUBSTEPS))


def _time(way: Way, count: int) -> float:
    began = process_time()
    way(count)
    return process_time() - began
