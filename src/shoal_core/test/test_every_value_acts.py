"""A value in a file acts, or the file is refused: every number of every shipped file is changed, and something changes.

Each case writes the file with one number changed, loads it as a user would, and compares what comes of it: the motion
of a short run, the points of a path, the jobs of a campaign, the commands of a joystick. A value that acts in one
situation only is tried in that situation; `SITUATIONS` lists those. Of numbers that are alike, a sample is tried;
all of them with `SHOAL_EVERY_VALUE=1 make test ARGS=src/shoal_core/test/test_every_value_acts.py`.
"""

from __future__ import annotations

import copy
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from shoal.campaigns.file import campaign_jobs, load_campaign
from shoal.config.files import config_roots, read_yaml
from shoal.control.registry import load_controller_file
from shoal.docking.pilot import bearing_deg
from shoal.errors import ShoalError
from shoal.evaluation.metrics import summarise
from shoal.fleet.file import Fleet, load_fleet
from shoal.guidance.path_file import load_path
from shoal.messages.state import ATTITUDE, State
from shoal.simulation.conditions import Condition, load_condition
from shoal.simulation.contact import nose_of
from shoal.simulation.plant import Plant
from shoal.simulation.world import World
from shoal.tasks.run import RunSpec, simulate
from shoal.vehicles.actuators import Devices
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal.vehicles.ports import caught, mated_attitude, mating
from shoal_autopilot.sticks import PadPilot
from shoal_gazebo.generate import generated_files
from shoal_teleop.layout import load_layout
from shoal_teleop.sticks import Sticks

Key = tuple[str | int, ...]
CONFIG = next(iter(config_roots()))
KINDS = ("vehicles", "fleets", "conditions", "controllers", "campaigns", "paths", "joysticks")
SEEN = 1e-6  # metres, radians, newtons: a change that is more than rounding


# -- every number ---------------------------------------------------------------------------------------------------


def numbers(data: Any, key: Key = ()) -> Iterator[Key]:
    """Where the numbers and switches of a file are."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from numbers(value, (*key, name))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from numbers(value, (*key, i))
    elif isinstance(data, int | float):
        yield key


def value_at(data: Any, key: Key) -> Any:
    for part in key:
        data = data[part]
    return data


def with_value(data: dict[str, Any], key: Key, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(data)
    value_at(changed, key[:-1])[key[-1]] = value
    return changed


def other(key: Key, value: Any) -> Any:
    """Another value of the same kind, large enough to matter."""
    words = [part for part in key if isinstance(part, str)]
    if isinstance(value, bool):
        return not value
    if words[-1] in ("direction", "axis", "normal"):  # of a unit vector; its length does not count
        return -value if value else 0.3
    if words[-1] == "sign":
        return -value
    if words[-1] == "stride":  # one more may be the same from the other side of the ring
        return value - 1
    if words[-1] in ("speed_mps", "acceleration_mps2") and "limits" in words:  # a limit acts when it is reached
        return value / 10
    if words[-2:] == ["dead_band", "replace"]:
        return value + 2.0
    if isinstance(value, int) and words[-1] not in ("delay_s", "waypoints", "direction"):
        return value + 1
    return value * 1.25 if value else 0.05


ALL = "SHOAL_EVERY_VALUE"  # in the environment: all numbers of all files, not a sample of those that are alike
SHARE = 0.05  # of those


def alike(kind: str, key: Key) -> tuple[str, Key]:
    """The same for numbers that the same code reads: elements of lists, parameter sets."""
    parts = key if kind != "vehicles" or key[0] != "sets" else (key[0], "*", *key[2:])
    return kind, tuple("*" if isinstance(part, int) else part for part in parts)


def cases() -> Iterator[Any]:
    """Of numbers that are alike one, and by chance some of the others; another chance when the file changes."""
    known = set()
    for kind in KINDS:
        for file in sorted((CONFIG / kind).glob("*.yaml")):
            chance = np.random.default_rng([zlib.crc32(file.read_bytes()), 1])
            for key in numbers(read_yaml(file)):
                taken = chance.random() < SHARE or alike(kind, key) not in known or ALL in os.environ
                known.add(alike(kind, key))
                if taken:
                    yield pytest.param(kind, file.stem, key, id=f"{kind}/{file.stem}:{'.'.join(map(str, key))}")


CASES = list(cases())


@pytest.mark.parametrize(("kind", "name", "key"), CASES)
def test_a_value_acts_or_the_file_is_refused(kind: str, name: str, key: Key, tmp_path: Path) -> None:
    data = read_yaml(CONFIG / kind / f"{name}.yaml")
    outcome = next((run for where, acts, run in SITUATIONS if where == kind and acts(key)), OUTCOMES[kind])
    file = tmp_path / f"{name}.yaml"
    file.write_text(yaml.safe_dump(with_value(data, key, other(key, value_at(data, key)))), encoding="utf-8")
    try:
        found = outcome(file, key)
    except ShoalError as refusal:
        assert "expected" in str(refusal)
        return
    assert differ(found, baseline(outcome, CONFIG / kind / f"{name}.yaml", relevant(kind, key)))


def differ(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.shape != b.shape or not bool(np.all(np.abs(a - b) <= SEEN))
    return bool(a != b)


def relevant(kind: str, key: Key) -> Key:
    """The part of the key that chooses the run."""
    if kind == "vehicles" and key[0] == "sets":
        return key[:2]
    return key if kind == "campaigns" and key == ("runs",) else ()


@lru_cache(maxsize=256)
def baseline(outcome: Callable[[Path, Key], Any], file: Path, key: Key) -> Any:
    return outcome(file, key)


# -- what comes of a file -------------------------------------------------------------------------------------------


def vehicle_of(file: Path, key: Key) -> Vehicle:
    """With the parameter set that the key is of."""
    return load_vehicle(str(file), str(key[1]) if key[:1] == ("sets",) else None)


def of_vehicle(file: Path, key: Key) -> np.ndarray:
    """Two of them, one diving and one rising, all thrusters driven to both limits and then hardly at all."""
    vehicle = vehicle_of(file, key)
    member = {"type": str(file), "parameter_set": vehicle.parameter_set, "start_m": (0.0, 0.0, 5.0)}
    fleet = Fleet.model_validate(
        {"version": 1, "name": "pair", "vehicles": [{**member, "name": "dives"}, {**member, "name": "rises"}]}
    )
    start = {}
    for name, down in (("dives", 1.0), ("rises", -1.0)):
        start[name] = State(np.array([0, 0, 5.0, 0.9, 0.2, 0.3, 0.2449, 0.4, -0.3, 0.7 * down, 0.5, -0.6, 0.7]))
        start[name].array[ATTITUDE] /= np.linalg.norm(start[name].array[ATTITUDE])
    world = World(fleet, start, load_condition("default"), 1, 0.1, 5.0)
    signs = np.where(np.arange(vehicle.input_count) % 2, 1.0, -1.0)
    rows = []
    for scale_N in (500.0, -500.0, 500.0, -500.0, 0.22, 0.22, 0.22, 0.0, 0.0):
        for name in fleet.names:
            world.command(name, scale_N * signs, world.t_s, world.t_s)
        world.step(0.1)
        rows.append(world.states.copy())
    return np.array(rows)


def of_surfaced_vehicle(file: Path, key: Key) -> np.ndarray:
    """Thrust of all thrusters at half a metre above and below the surface, and in between."""
    vehicle = vehicle_of(file, key)
    rows = []
    for depth_m in np.linspace(-0.3, 0.2, 6):
        plant = Plant([vehicle], np.array([[0, 0, depth_m, 0.9, 0.3, 0.25, 0.19, *np.zeros(6)]]))
        rows.append(plant.step(vehicle.input_max_N[None] / 2, 0.1).copy())
    return np.array(rows)


def of_place(file: Path, key: Key) -> np.ndarray:
    return np.concatenate([of_vehicle(file, key).ravel(), of_surfaced_vehicle(file, key).ravel()])


def of_device(file: Path, key: Key) -> np.ndarray:
    """What is sent for forces of all sizes, and what comes of it."""
    rows = []
    for thruster in vehicle_of(file, key).thrusters:
        for force_N in (*np.linspace(-60, 60, 61), *np.linspace(-2, 2, 41), *np.linspace(0, 0.2, 41)):
            inputs = np.array([force_N] * thruster.inputs)
            rows.append([thruster.to_device(inputs)[0], Devices((thruster,))(inputs)[0]])
    return np.array(rows)


def of_ports(file: Path, key: Key) -> np.ndarray:
    """Two of the vehicle, latch to latch, a little off: what their latches, cameras and noses make of it."""
    vehicle, rows = vehicle_of(file, key), []
    for a in vehicle.ports:
        for b in vehicle.ports:
            turn = mated_attitude(a, b)
            other = State.at_rest((0.0, 0.0, 0.0), float(np.arctan2(turn[1, 0], turn[0, 0]))).array
            other[:3] = a.place_m - turn @ b.place_m
            first = State.at_rest((0.0, 0.0, 0.0)).array
            now = mating(a, first, b, other)
            rows += [*now.gap_m, now.angle_deg, nose_of(a).end_m.sum()]
            rows += [float(caught(a, b, replace(now, gap_m=np.zeros(3)))), a.catch_m, a.catch_deg, a.catch_mps]
            if a.camera is None or b.marker is None:
                continue
            rows += [bearing_deg(a, first, b, other), a.camera.half_angle_deg, *a.camera.axis, *b.marker.normal]
            rows += [*a.camera.place_m, *b.marker.place_m]
    return np.array(rows)


def of_fleet(file: Path, key: Key) -> np.ndarray:
    """Holding station from the start poses of the file."""
    return motion(RunSpec(fleet=str(file), condition="default", seed=1, duration_s=0.25, task="hold_station"))


def of_crowd(file: Path, key: Key) -> np.ndarray:
    """The same, too close to each other and looking aside: the limits on sight and distance act."""
    fleet = load_fleet(file)
    members = tuple(
        m.model_copy(
            update={"start_m": tuple(np.multiply(m.start_m, (0.3, 0.3, 1.0))), "heading_deg": m.heading_deg + 70}
        )
        for m in fleet.vehicles
    )
    crowded = fleet.model_copy(update={"vehicles": members})
    return motion(RunSpec(fleet=crowded, condition="ideal", seed=1, duration_s=0.25, task="hold_station"))


def of_fleet_in_current(file: Path, key: Key) -> np.ndarray:
    """Holding station where all the thrust is needed."""
    water = {"currents": [{"kind": "constant", "velocity_mps": [1.5, 1.5, 0.5]}]}
    strong = Condition.model_validate({"name": "strong", "environment": water})
    return motion(RunSpec(fleet=str(file), condition=strong, seed=1, duration_s=0.6, task="hold_station"))


def of_condition(file: Path, key: Key) -> np.ndarray:
    """Two vehicles on the circle, for as long as the condition needs to show."""
    condition = load_condition(file)
    if condition.faults:  # begin shortly after the start: 50 s of waiting show nothing more
        shift_s = 49.8
        faults = [f.model_copy(update={"from_s": f.from_s - shift_s}) for f in condition.faults]
        condition = condition.model_copy(update={"faults": tuple(faults)})
    duration_s = 1.0 + 1.25 * condition.link.delay_s
    if any(current.kind == "square" for current in condition.environment.currents):
        duration_s = max(duration_s, 3.0)
    return motion(RunSpec(fleet="fosso2023_two", condition=condition, seed=1, duration_s=duration_s))


def of_condition_with_pid(file: Path, key: Key) -> np.ndarray:
    """The simple controller knows the vehicle's model, too."""
    return motion(
        RunSpec(fleet="fosso2023_two", condition=load_condition(file), seed=1, controller="pid", duration_s=1.0)
    )


def of_condition_as_believed(file: Path, key: Key) -> np.ndarray:
    """With a controller that does not find out by itself how late its thrusters act."""
    believing = load_controller_file("nmpc").model_copy(update={"runtime": {"agent": {"timing": {"enabled": False}}}})
    return motion(
        RunSpec(fleet="fosso2023_two", condition=load_condition(file), seed=1, controller=believing, duration_s=1.0)
    )


def of_controller(file: Path, key: Key) -> np.ndarray:
    """Two vehicles on the circle; a vessel's controller on a vessel that has a long way to go."""
    if file.stem == "nmpc_vessel":
        step = {"size": 4.0, "at_s": 0.5, "duration_s": 3.0}
        return motion(
            RunSpec(fleet="vessel", condition="tank", controller=str(file), task="step_response", task_settings=step)
        )
    return motion(RunSpec(fleet="fosso2023_two", condition="default", seed=1, controller=str(file), duration_s=0.2))


def of_slow_controller(file: Path, key: Key) -> np.ndarray:
    """Steps that take 100.5 control periods: whether they are late is up to the deadline. (T,V) who steered."""
    slow = Condition.model_validate({"name": "slow", "controller_time": {"median_ms": 5025, "p99_ms": 5025}})
    return simulate(RunSpec(fleet="fosso2023_two", condition=slow, seed=1, controller=str(file), duration_s=0.1)).mode


def motion(spec: RunSpec) -> np.ndarray:
    """(T,V,13) the true states."""
    return simulate(spec).states


def of_campaign(file: Path, key: Key) -> set[str]:
    """The keys of its jobs; two seeds show what a hundred would, unless it is about their number."""
    campaign = load_campaign(file)
    few = campaign if "runs" in key else campaign.model_copy(update={"runs": 2})
    return {job.key() for job in campaign_jobs(few, file)}


def of_path(file: Path, key: Key) -> np.ndarray:
    """Its points, and for how long it goes."""
    path = load_path(str(file))
    times = np.linspace(0.0, 200.0, 401)
    return np.concatenate([np.asarray(path.position(times)).ravel(), [path.duration_s]])


def of_joystick(file: Path, key: Key) -> list[Any]:
    """What each axis and each button does, after the triggers have been seen at rest."""
    layout = load_layout(file)
    found: list[Any] = []
    for axis in range(8):
        for value in (-1.0, -0.5, 0.5, 1.0):
            sticks = Sticks(layout)
            held = [int(i == layout.buttons.dead_man) for i in range(12)]
            rest = [1.0 if i in (2, 5) else 0.0 for i in range(8)]
            sticks.velocity(rest, held)
            found.append(sticks.velocity([value if i == axis else r for i, r in enumerate(rest)], held))
    for button in range(12):
        pressed = [int(i == button) for i in range(12)]
        found.append((Sticks(layout).velocity([0.0] * 8, pressed) is None, Sticks(layout).modes(pressed)))
        with_l1 = [int(i in (button, 4)) for i in range(12)]
        found.append(Sticks(layout).modes(with_l1))
        found.append(PadPilot(layout).message([0.0] * 8, with_l1))
    return found


def of_gazebo_model(file: Path, key: Key) -> dict[str, str]:
    """The generated model."""
    return generated_files(vehicle_of(file, key))


MEAN_HEAVE = ("added_mass", "linear_damping", "quadratic_damping")
OUTCOMES: dict[str, Callable[[Path, Key], Any]] = {
    "vehicles": of_vehicle,
    "fleets": of_fleet,
    "conditions": of_condition,
    "controllers": of_controller,
    "campaigns": of_campaign,
    "paths": of_path,
    "joysticks": of_joystick,
}


def of_verdict(file: Path, key: Key) -> dict[str, Any]:
    """Bounds that the run is judged by."""
    summary = summarise(simulate(RunSpec("line", condition=str(file), controller="pid", duration_s=1.0)))
    return {name: result.bound for name, result in summary.metrics.items()}


# (kind of file, which keys, run in which they act)
SITUATIONS: list[tuple[str, Callable[[Key], bool], Callable[[Path, Key], Any]]] = [
    ("controllers", lambda key: key[-1] == "deadline_periods", of_slow_controller),
    ("vehicles", lambda key: key[0] == "ports", of_ports),
    # Water does not know a size; collisions do.
    ("vehicles", lambda key: key[0] == "size_m", of_gazebo_model),
    # A propeller in deep water gives all it can.
    ("vehicles", lambda key: "propeller_diameter" in key, of_surfaced_vehicle),
    # A thruster gives the same moment wherever along its direction it sits; not so at the surface.
    ("vehicles", lambda key: "position_m" in key, of_place),
    # Signals of a device are not seen from outside.
    ("vehicles", lambda key: "curve" in key, of_device),
    # Of a set with values for diving and rising, the mean of the two is for Gazebo, which knows no such difference.
    ("vehicles", lambda key: key[1:2] == ("ng2024",) and key[2] in MEAN_HEAVE and key[-1] == 2, of_gazebo_model),
    # Limits act when they are reached.
    ("fleets", lambda key: key[0] in ("sight", "distance"), of_crowd),
    ("fleets", lambda key: key[-1] == "thrust_limit_N", of_fleet_in_current),
    ("conditions", lambda key: key[0] == "bounds", of_verdict),
    # Another structure of the mass matrix: with pid, no solver has to be compiled for it.
    ("conditions", lambda key: "cg_offset_m" in key, of_condition_with_pid),
    # A believed lag below what is believed at the start in any case is a prior of the estimate, no more.
    ("conditions", lambda key: key[:2] == ("controller_model", "thruster_lag"), of_condition_as_believed),
]


# -- every setting ----------------------------------------------------------------------------------------------------

# Checked when a file is loaded, or for people: nothing else asks for them.
