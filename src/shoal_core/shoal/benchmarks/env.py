"""Steps per second of the environments for learning: 1, 16 and 256 copies in one process."""

from __future__ import annotations

from time import perf_counter

import gymnasium
import numpy as np

from shoal.benchmarks.result import Result, Row
from shoal.envs import FleetEnv, VehicleEnv

COPIES = (1, 16, 256)


def run(quick: bool = False) -> Result:
    """Random actions, resets included; every step is 0.05 s of the sea-trial condition."""
    seconds = 0.3 if quick else 4.0
    rows = [_row(f"Gymnasium, {copies} cop{'ies' if copies > 1 else 'y'}", _vehicles(copies, seconds))
            for copies in COPIES]  # fmt: skip
    rows.append(_row("PettingZoo, fleet of two, vehicle steps", 2 * _fleet(seconds)))
    notes = ("Copies are gymnasium.vector.SyncVectorEnv: one core. AsyncVectorEnv takes a process for each copy.",)
    return Result("env", "Environments: 20 Hz control, RK4 with dt = 0.01 s, one core", tuple(rows), notes)


def _row(label: str, rate: float) -> Row:
    return Row(label, rate, "steps/s", f"{rate * 0.05:.0f} × real time")


def _vehicles(copies: int, seconds: float) -> float:
    envs = gymnasium.vector.SyncVectorEnv([VehicleEnv for _ in range(copies)])
    envs.reset(seed=0)
    envs.action_space.seed(0)
    envs.step(envs.action_space.sample())  # what is compiled is compiled now
    steps, started = 0, perf_counter()
    while perf_counter() - started < seconds:
        envs.step(envs.action_space.sample())
        steps += copies
    return steps / (perf_counter() - started)


def _fleet(seconds: float) -> float:
    env, rng = FleetEnv("two"), np.random.default_rng(0)
    env.reset(seed=0)
    steps, started = 0, perf_counter()
    while perf_counter() - started < seconds:
        if not env.agents:
            env.reset()
        shapes = {name: env.action_space(name).shape or () for name in env.agents}
        env.step({name: rng.uniform(-1.0, 1.0, shape).astype(np.float32) for name, shape in shapes.items()})
        steps += 1
    return steps / (perf_counter() - started)
