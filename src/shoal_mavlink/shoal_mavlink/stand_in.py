"""The stand-in autopilot as a process, in real time or in lock step: `ardusub_stand_in`, one for each vehicle.

In lock step its time is what a bridge with `lockstep` says (TIMESYNC), so that a trial does not depend on the machine.
With `log` it writes one JSON line for each change of its outputs and at 10 Hz: its own monotonic clock, outputs, truth.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

import numpy as np

from shoal.console import print_error
from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.simulation.conditions import load_condition
from shoal.simulation.world import World
from shoal.tasks.base import TaskContext
from shoal.tasks.run import make_task
from shoal_mavlink import dialect
from shoal_mavlink.autopilot_model import GOOD_PARAMETERS, TICK_S, AutopilotModel
from shoal_mavlink.link import Link
from shoal_mavlink.thruster_plant import ThrusterPlant

LASTING_S = 3600.0  # for which random currents are drawn
LOG_TICKS = 20


def make_model(
    fleet: str, vehicle: str, condition: str = "default", seed: int = 0, voltage_V: float = 16.0, path: str = "",
    parameters: dict[str, float] | None = None, system: int = 1, start_s: float = 0.0, water_s: float = 0.0,
) -> AutopilotModel:  # fmt: skip
    """A vehicle of a fleet as the simulator has it: start, water, what differs from its description, sensors.

    `water_s`: how long the water has been moving when the vehicle is put into it.
    """
    settings = load_condition(condition)
    task = make_task(
        "follow_path" if path else "hold_station", TaskContext(load_fleet(fleet), settings, {}, path, seed)
    )
    if vehicle not in task.fleet.names:
        raise ShoalError(
            f"vehicle = '{vehicle}': not in fleet '{fleet}'; expected one of: {', '.join(task.fleet.names)}"
        )
    period_s = task.fleet.control_period_s
    world = World(task.fleet, task.start(), settings, seed, period_s, LASTING_S, current=task.current())
    index = task.fleet.names.index(vehicle)
    water = world.plant.current
    plant = ThrusterPlant(
        world.plant.vehicles[index], world.states[index].copy(), voltage_V, lambda t_s, at_m: water(t_s + water_s, at_m)
    )
    return AutopilotModel(plant, parameters, system, settings.sensors, seed, start_s)


class StandIn:
    """Model, link and real time."""

    def __init__(self, model: AutopilotModel, link: Link, log: IO[str] | None = None) -> None:
        self._model, self._link, self._log = model, link, log
        self._written: object = None
        self._count = 0

    def serve(self, until_s: float = float("inf")) -> None:
        """Until that time of the monotonic clock."""
        while (now_s := time.monotonic()) < until_s:
            for data in self._link.receive():
                for message in self._model.codec.parse(data):
                    self._send(self._model.receive(message))
            self._send(self._model.advance(now_s, self._note))
            self._link.wait(self._model.now_s + TICK_S - time.monotonic())

    def follow(self, questions: Sequence[Any] = ()) -> None:
        """In lock step, without an end: each TIMESYNC is a time to advance to, and is answered when we are there."""
        while True:
            for message in questions:
                if message.get_type() == "TIMESYNC":
                    self._send(self._model.advance(message.ts1 * 1e-9, self._note))
                    reached_ns = max(1, round(self._model.now_s * 1e9))
                    self._send([dialect.timesync(self._model.codec, message.ts1, reached_ns)])
                else:
                    self._send(self._model.receive(message))
            self._link.wait(1.0)
            questions = [message for data in self._link.receive() for message in self._model.codec.parse(data)]

    def _send(self, messages: Sequence[object]) -> None:
        if messages:
            self._link.send([self._model.codec.pack(message) for message in messages])

    def _note(self) -> None:
        if self._log is None:
            return
        m = self._model
        self._count += 1
        what = (m.state.armed, m.state.mode, m.outputs_us)
        if what == self._written and self._count % LOG_TICKS:
            return
        self._written = what
        line = {"t_s": round(m.now_s, 4), "armed": m.state.armed, "mode": m.state.mode, "outputs_us": m.outputs_us}
        self._log.write(json.dumps({**line, "state": np.round(m.plant.state, 5).tolist()}) + "\n")
        self._log.flush()


def _parameter(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    return name, float(value)  # argparse makes a sentence of a ValueError


def main(arguments: Sequence[str] | None = None) -> None:
    """One vehicle until ended by a signal."""
    parser = argparse.ArgumentParser(
        description="A stand-in for ArduSub, for tests and for trying the bridge on a desk."
    )
    parser.add_argument("--fleet", default="two")
    parser.add_argument("--vehicle", required=True)
    parser.add_argument("--link", default="udpin:127.0.0.1:14560", help="udpin:, udpout:, tcp: or tcpin: ADDRESS:PORT")
    parser.add_argument("--condition", default="default", help="water and sensors")
    parser.add_argument("--path", default="", help="path whose start the vehicle lies at; else the fleet file's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--voltage", type=float, default=16.0, help="V, of the battery")
    parser.add_argument("--system", type=int, default=1, help="MAVLink system id")
    parser.add_argument("--set", action="append", default=[], type=_parameter, metavar="NAME=VALUE", dest="parameters")
    parser.add_argument(
        "--water-since", type=float, default=None, metavar="S",
        help="of the monotonic clock: when the water began to move, so that vehicles started apart share it",
    )  # fmt: skip
    parser.add_argument(
        "--lockstep", action="store_true", help="time is a bridge's, whose parameter lockstep is true; water began at 0"
    )
    parser.add_argument("--moored", action="store_true", help="held in its place until it is armed")
    parser.add_argument("--late", type=float, default=0.0, metavar="S", help="of overrides on their way")
    parser.add_argument("--log", type=Path, default=None, help="file for outputs and truth, JSON lines")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    try:
        _serve(given)
    except ShoalError as error:
        print_error(str(error))
        raise SystemExit(2) from None


def _serve(given: argparse.Namespace) -> None:
    link, first = Link(given.link), []
    if given.lockstep:
        first = _first_question(link)
        now_s = water_s = first[0].ts1 * 1e-9
    else:
        now_s = time.monotonic()
        water_s = max(0.0, now_s - given.water_since) if given.water_since is not None else 0.0
    model = make_model(
        given.fleet, given.vehicle, given.condition, given.seed, given.voltage, given.path,
        {**GOOD_PARAMETERS, **dict(given.parameters)}, given.system, now_s, water_s,
    )  # fmt: skip
    model.moored, model.late_s = given.moored, given.late
    log = given.log.open("a", encoding="utf-8") if given.log else None
    made = StandIn(model, link, log)
    if given.lockstep:
        made.follow(first)
    made.serve()


def _first_question(link: Link) -> list[Any]:
    """What time it is."""
    codec = dialect.Codec(1)
    while True:
        link.wait(1.0)
        for data in link.receive():
            asked = [message for message in codec.parse(data) if message.get_type() == "TIMESYNC"]
            if asked:
                return asked


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
