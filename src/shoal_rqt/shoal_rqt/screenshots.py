"""`shoal gui --screenshots DIR`: the guide's pictures, from simulated runs, drawn by the real widgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from shoal.control.settings import ControllerSettings
from shoal.fleet.file import Fleet, load_fleet
from shoal.messages.odometry import Odometry
from shoal.recordings.recording import RunRecord
from shoal.simulation.simulator import RunSpec, simulate
from shoal_rqt import updates
from shoal_rqt.judge import Verdict
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtWidgets, application
from shoal_rqt.requests import Description, NoLink, ParameterInfo
from shoal_rqt.scene import model_at
from shoal_rqt.station import Station
from shoal_rqt.theme import DARK, LIGHT, Theme
from shoal_rqt.update_queue import UpdateQueue

SIZE = (1440, 900)
Stage = Callable[[Station], None]


def take_all(folder: Path, say: Callable[[str], None] = print) -> list[Path]:
    """All of them; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    application().setStyle("Fusion")
    made = []
    for name, station in _stations(say):
        _settle(station)
        target = folder / f"gui_{name}.png"
        station.grab().save(str(target))
        station.close()
        say(str(target))
        made.append(target)
    return made


def _stations(say: Callable[[str], None]) -> Iterator[tuple[str, Station]]:
    two, five = load_fleet("two"), load_fleet("ring5")
    say("simulating two vehicles on the circle")
    circle = simulate(RunSpec(path="circle", fleet="two", condition="default", seed=1, duration_s=40.0))
    yield "two_light", _station(circle, two, 32.0, LIGHT, _test_running, "Vehicles")
    yield "waypoints_dark", _station(circle, two, 26.0, DARK, _waypoints, "Waypoints")
    yield "tests_light", _station(circle, two, 1.0, LIGHT, _test_waiting, "Tests")
    yield "tuning_light", _station(circle, two, 20.0, LIGHT, _tuning, "Tune", size=(1024, 640))
    yield "broken_light", _station(circle, two, 30.0, LIGHT, _broken, "Vehicles")
    say("simulating five vehicles on a ring")
    ring = simulate(RunSpec(path="spiral", fleet="ring5", condition="current_03_plus_x", seed=1, duration_s=30.0))
    yield "five_light", _station(ring, five, 26.0, LIGHT, _test_running, "Vehicles")
    yield "five_dark", _station(ring, five, 26.0, DARK, _test_running, "Vehicles", size=(1920, 1080))
    yield "lost_dark", _station(ring, five, 24.0, DARK, _lost, "Vehicles")


def _station(
    record: RunRecord, fleet: Fleet, t_s: float, theme: Theme, stage: Stage, tab: str, size: tuple[int, int] = SIZE
) -> Station:
    model = model_at(record, fleet, t_s, time.monotonic())
    station = Station(model, UpdateQueue(), NoLink())
    station.dress(theme)
    station.resize(*size)
    for index in range(station.tabs.count()):
        if station.tabs.tabText(index) == tab:
            station.tabs.setCurrentIndex(index)
    station.show()
    station.view.above.setFocus()
    _tell(model, updates.ModeUpdate("hold"))
    stage(station)
    return station


def _settle(station: Station) -> None:
    """Layouts and ranges need a few turns of the event loop."""
    for _ in range(4):
        station.beat()
        station.view.fit()
        station.draw(time.monotonic())
        station.show_numbers(time.monotonic())
        QtWidgets.QApplication.processEvents()


def _tell(model: FleetModel, *items: updates.Update) -> None:
    for item in items:
        model.take(item, time.monotonic())


# -- what is shown ----------------------------------------------------------------------------------------------


def _status(state: str, **more: object) -> updates.TestUpdate:
    base: dict[str, object] = {
        "state": state, "test": "circle", "t_s": 0.0, "duration_s": 130.0, "countdown_s": None, "waiting_for": [],
        "sequence": ["line", "circle", "spiral", "torus"], "index": 1, "round": 1, "rounds": 3,
    }  # fmt: skip
    return updates.TestUpdate(base | more)


def _test_running(station: Station) -> None:
    model = station.model
    _tell(model, updates.ModeUpdate("test"), _status("running", t_s=model.t_s, sequence=["circle"], rounds=1, index=0))
    values = {"folder": "recordings/circle", "messages": "21877"}
    current = (
        updates.CurrentUpdate(np.array([0.3, 0.0, 0.0])) if len(model.vehicles) > 2 else updates.ModeUpdate("test")
    )
    _tell(model, current, updates.DiagnosticUpdate("shoal: recorder", "recorder", 0, "recording", values))


def _test_waiting(station: Station) -> None:
    _tell(station.model, updates.ModeUpdate("test"), _status("waiting", countdown_s=3.2))
    limits = station.model.limits
    pair = ("bluerov2", "bluerov3")
    station.model.verdicts.append(Verdict("line", True, 6.2, 2.08, pair, pair, frozenset(), limits))
    for row in range(4):
        item = station.test_panel.tests.item(row)
        item.setCheckState(type(item.checkState()).Checked)
    station.test_panel.repeat.setValue(3)


def _waypoints(station: Station) -> None:
    for place in ((2.0, -3.0, 5.0), (5.0, 0.5, 6.5), (2.5, 4.0, 8.0), (-3.4, 0.4, 5.0)):
        station.waypoints.add(place)
    station.waypoints.mark_sent()
    station.waypoints.move(2, (3.2, 4.4, 8.0))
    station.view.adding.setChecked(True)
    _tell(
        station.model,
        updates.ModeUpdate("waypoints"),
        updates.QueueUpdate(np.array([[5.0, 0.5, 6.5], [2.5, 4.0, 8.0], [-3.4, 0.4, 5.0]])),
    )


def _tuning(station: Station) -> None:
    parameters = list(_parameters(ControllerSettings(), ""))
    station.model.take(updates.GraphUpdate((), station.model.nodes, True), time.monotonic())
    station.tuning_panel.refresh(station.theme)
    station.tuning_panel.show_parameters(Description("/bluerov2/mpc", tuple(parameters)))
    reason = "limits: distance_soft_m = 0.5 < distance_hard_m = 0.75, expected ≥"
    station.tuning_panel._restore("limits.distance_soft_m", f"/bluerov2/mpc refuses: {reason}")


def _parameters(model: object, prefix: str) -> Iterator[ParameterInfo]:
    """As the controller would describe itself."""
    from pydantic import BaseModel

    assert isinstance(model, BaseModel)
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _parameters(value, f"{prefix}{name}.")
            continue
        low = next((getattr(r, k) for r in field.metadata for k in ("ge", "gt") if hasattr(r, k)), None)
        high = next((getattr(r, k) for r in field.metadata for k in ("le", "lt") if hasattr(r, k)), None)
        yield ParameterInfo(prefix + name, value, field.description or "", low, high)


def _broken(station: Station) -> None:
    """One vehicle has turned away and come too near."""
    model = station.model
    a, b = (model.vehicles[name] for name in model.vehicles)
    assert a.odometry is not None and b.odometry is not None
    half = np.radians(48.0) / 2
    turn = np.array([np.cos(half), 0.0, 0.0, np.sin(half)])
    away = (a.odometry.position_m - b.odometry.position_m) / np.linalg.norm(
        a.odometry.position_m - b.odometry.position_m
    )
    nearer = a.odometry.position_m - 0.68 * away
    o, seen = b.odometry, _product(b.odometry.attitude, _product(turn, turn))
    moved = Odometry.of_parts(o.stamp_s, nearer, seen, o.velocity_mps, o.rate_radps)
    _tell(model, updates.OdometryUpdate(b.name, moved))
    b.thrust_N = np.array([16.6, -16.6, 9.0, -4.0, 3.0, -2.0, 16.6, 1.0])
    b.trail.clear()
    why = "odometry is 0.61 s old, expected at most 0.5 s"
    values = {"mode": "station_keeping", "reason": why, "solve_ms": "4.1", "overruns": "2"}
    _tell(
        model,
        updates.DiagnosticUpdate(f"shoal: {b.name} controller", b.name, 1, "keeping station: odometry is old", values),
    )
    distance = float(np.linalg.norm(nearer - a.odometry.position_m))
    _tell(model, updates.EventUpdate(2, f"{a.name} and {b.name} are {distance:.2f} m apart, closer than 0.75 m"))


def _product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Of quaternions, scalar first."""
    return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])])


def _lost(station: Station) -> None:
    """One vehicle is silent for seven seconds; another says that it misses it."""
    model = station.model
    _test_running(station)
    names = list(model.vehicles)
    gone, other = model.vehicles[names[2]], names[1]
    assert gone.heard_s is not None
    gone.heard_s -= 7.0
    gone.thrust_N = np.full(8, np.nan)
    values = {"mode": "nmpc", "reason": "", "solve_ms": "6.3", "overruns": "0"}
    said = f"{gone.name} is gone: no plan from it"
    _tell(model, updates.DiagnosticUpdate(f"shoal: {other} controller", other, 1, said, values))
