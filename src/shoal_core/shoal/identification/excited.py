"""A minute of excitation for a fit: in the simulator, or as ROS nodes around whatever brings odometry."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from shoal.control.registry import ControllerFile, load_controller_file
from shoal.errors import ShoalError
from shoal.fleet.file import Fleet
from shoal.fleet.generate import resolve_fleet
from shoal.identification.motion_data import MotionData
from shoal.identification.sources import pieces_of
from shoal.messages.health import Code
from shoal.messages.wording import log_line
from shoal.recordings.bag_reader import read_runs
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, simulate

FLOWN_S = 60.0
LEVEL = 0.6  # at 0.7 the default vehicle, held more softly, tilted by up to 79°
READY_S = 10.0  # wall: until nodes outside of the simulator have found each other
LEAST_S = 15.0  # of motion, after which a stop still leaves something to fit
STOPS = (Code.LEFT_ITS_ROOM, Code.LEFT_ITS_DEPTH, Code.TOO_CLOSE_TO_EXCITE)


@dataclass(frozen=True)
class Flown:
    """What was recorded, up to a stop if there was one."""

    pieces: tuple[MotionData, ...]
    stopped: str = ""  # why the excitation stopped, in words


def excitation_file(name_or_path: str, level: float | None) -> ControllerFile:
    """The excitation with its limits of room, depth and distance; `level` replaces the file's."""
    file = load_controller_file(name_or_path)
    if file.controller != "excitation":
        raise ShoalError(f"--excitation {name_or_path}: is of controller '{file.controller}'; expected excitation")
    chosen = file.settings.get("level", LEVEL) if level is None else level
    return file.model_copy(update={"settings": {**file.settings, "level": chosen}})


def fly_simulated(
    vehicle: str, parameter_set: str | None, excitation: ControllerFile, condition: str, seed: int
) -> Flown:
    """In the simulator."""
    member: dict[str, object] = {"name": "rov", "type": vehicle, "start_m": [0, 0, 5]}
    if parameter_set is not None:
        member["parameter_set"] = parameter_set
    fleet = Fleet.model_validate({"version": 1, "name": "excited", "vehicles": [member]})
    run = simulate(RunSpec(fleet=fleet, controller=excitation, condition=condition, duration_s=FLOWN_S, seed=seed))
    return until_stop(run, f"simulated, {condition}, seed {seed}")


def type_of_one(fleet: str) -> tuple[str, str | None]:
    """Type and parameter set of a fleet's only vehicle: several would be excited beside each other."""
    found = resolve_fleet(fleet)
    if len(found.names) != 1:
        raise ShoalError(f"--fleet {fleet}: has {len(found.names)} vehicles; expected one for an excitation")
    kind = found.vehicles[0].type
    if kind is None:
        raise ShoalError(f"--fleet {fleet}: is an assembly; expected a single vehicle for an excitation")
    return kind, found.vehicles[0].parameter_set


def fly_on_ros(fleet: str, plant: str, excitation: ControllerFile, condition: str, seed: int, folder: Path) -> Flown:
    """`shoal up` with the excitation and a recorder in `folder`, then what that recorded.

    `plant` builtin: simulated time, in lock step. none: Gazebo or a vehicle brings odometry, in its own time. A node
    that crashes ends it: started again, the excitation would go on from wherever the vehicle is by then.
    """
    if folder.exists():
        raise ShoalError(f"{folder} is there already; expected a new folder: --record")
    with tempfile.TemporaryDirectory(prefix="shoal-identify-") as scratch:
        chosen = Path(scratch) / "excitation.yaml"
        chosen.write_text(yaml.safe_dump(excitation.model_dump(mode="json")), encoding="utf-8")
        seconds = FLOWN_S if plant == "builtin" else FLOWN_S + READY_S
        words = ["up", fleet, "--plant", plant, "--controller", str(chosen), "--for", f"{seconds:g}", "--once"]
        words += ["--record", str(folder)]
        if plant == "builtin":
            words += ["--rate", "0", "--condition", condition, "--seed", str(seed)]
        code = subprocess.run([sys.executable, "-m", "shoal.cli", *words], stdout=sys.stderr, check=False).returncode
    if code != 0:
        raise ShoalError(f"shoal {' '.join(words[:4])}: ended with code {code}; expected a flight of {seconds:g} s")
    return until_stop(read_runs(folder, fleet)[-1], str(folder))


def until_stop(run: Recording, source: str) -> Flown:
    """The motion of a recording's one vehicle, without the drifting after a stop."""
    name = run.names[0]
    stop = next(((e.t_s, i) for e in run.events for i in e.issues if i.code in STOPS and e.vehicle == name), None)
    if stop is None:
        return Flown(tuple(pieces_of(run, name, source)))
    stop_s, issue = stop
    why = f"stopped after {stop_s:.1f} s: {name} {log_line(issue)}"
    if stop_s < LEAST_S:
        raise ShoalError(f"{source}: {why}; expected at least {LEAST_S:g} s of motion (more room, or a lower --level)")
    return Flown(tuple(pieces_of(run, name, source, until_s=stop_s)), why)
