"""`shoal gui --screenshots DIR`: the guide's pictures, from simulated runs, drawn by the real widgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from shoal.control.settings import NmpcSettings
from shoal.errors import ShoalError
from shoal.fleet.file import Fleet, load_fleet
from shoal.fleet.stop import StopState
from shoal.frames import multiply
from shoal.messages.odometry import Odometry
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, simulate
from shoal_rqt import structure_scenes, updates
from shoal_rqt.model import FleetModel
from shoal_rqt.qt import QtWidgets, application
from shoal_rqt.requests import Description, NoLink, ParameterInfo
from shoal_rqt.scene import model_at
from shoal_rqt.station import Station
from shoal_rqt.theme import DARK, LIGHT, Theme
from shoal_rqt.update_queue import UpdateQueue
from shoal_rqt.verdict import TestVerdict

SIZE = (1440, 900)
LOST = {"lost_dark": 1}  # vehicles that a picture is meant to show as lost
Stage = Callable[[Station], None]


def take_all(folder: Path, report: Callable[[str], None] = print) -> list[Path]:
    """All of them; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    application().setStyle("Fusion")
    made = []
    for name, station in _stations(report):
        _settle(station)
        target = folder / f"gui_{name}.png"
        _refuse_lost(name, station.model)
        station.grab().save(str(target))
        station.close()
        report(str(target))
        made.append(target)
    return made


def _refuse_lost(name: str, model: FleetModel) -> None:
    """The guide's pictures show no vehicle that is lost; only the scene `lost` is meant to show one."""
    allowed = LOST.get(name, 0)
    lost = [v.name for v in model.vehicles.values() if v.is_lost(_drawn_at_s(model))]
    if len(lost) > allowed:
        raise ShoalError(
            f"picture gui_{name}.png: {', '.join(lost)} lost when it was drawn, expected {allowed or 'none'}"
        )


def _stations(report: Callable[[str], None]) -> Iterator[tuple[str, Station]]:
    two, five = load_fleet("two"), load_fleet("ring5")
    report("simulating two vehicles on the circle")
    circle = simulate(RunSpec(path="circle", fleet="two", condition="default", seed=1, duration_s=40.0))
    yield "two_light", _station(circle, two, 32.0, LIGHT, _test_running, "Vehicles")
    yield "waypoints_dark", _station(circle, two, 26.0, DARK, _waypoints, "Waypoints")
    yield "tests_light", _station(circle, two, 1.0, LIGHT, _test_waiting, "Tests")
    yield "tuning_light", _station(circle, two, 20.0, LIGHT, _tuning, "Tune", size=(1024, 640))
    yield "broken_light", _station(circle, two, 30.0, LIGHT, _broken, "Vehicles")
    yield "stopped_light", _station(circle, two, 30.0, LIGHT, _stopped, "Vehicles")
    report("simulating five vehicles on a ring")
    ring = simulate(RunSpec(path="circle", fleet="ring5", condition="current_03_plus_x", seed=1, duration_s=30.0))
    yield "five_light", _station(ring, five, 26.0, LIGHT, _test_running, "Vehicles")
    yield "five_dark", _station(ring, five, 26.0, DARK, _test_running, "Vehicles", size=(1920, 1080))
    yield "lost_dark", _station(ring, five, 24.0, DARK, _lost, "Vehicles")
    looks = {"docking": (LIGHT, "Join"), "platform": (LIGHT, "Vehicles"), "blueprint": (LIGHT, "Join"),
              "joined": (DARK, "Vehicles"),
             "assembly": (DARK, "Join")}  # fmt: skip
    for name, model in structure_scenes.scenes(report):
        theme, tab = looks[name]
        station = _window(model, theme, tab, (1024, 640))
        if name == "blueprint":
            _draw_blueprint(station)
        yield f"{name}_{theme.name}", station


def _station(
    run: Recording, fleet: Fleet, t_s: float, theme: Theme, stage: Stage, tab: str, size: tuple[int, int] = SIZE
) -> Station:
    model = model_at(run, fleet, t_s, time.monotonic())
    _apply(model, updates.ModeUpdate("hold"))
    station = _window(model, theme, tab, size)
    stage(station)
    return station


def _window(model: FleetModel, theme: Theme, tab: str, size: tuple[int, int]) -> Station:
    station = Station(model, UpdateQueue(), NoLink())
    station.apply_theme(theme)
    station.resize(*size)
    for index in range(station.tabs.count()):
        if station.tabs.tabText(index) == tab:
            station.tabs.setCurrentIndex(index)
    station.show()
    station.view.above.setFocus()
    return station


def _settle(station: Station) -> None:
    """Layouts and ranges need a few turns of the event loop."""
    wall_s = _drawn_at_s(station.model)
    for _ in range(4):
        station.model.check(wall_s)
        station.view.fit()
        station.draw(wall_s)
        station.show_numbers(wall_s)
        QtWidgets.QApplication.processEvents()


def _drawn_at_s(model: FleetModel) -> float:
    """The instant at which the model was filled: a machine that draws slowly must not make vehicles look lost."""
    return time.monotonic() if model.clock_received_s is None else model.clock_received_s


def _apply(model: FleetModel, *items: updates.Update) -> None:
    for item in items:
        model.apply(item, time.monotonic())


# -- what is shown ----------------------------------------------------------------------------------------------


def _status(state: str, **more: object) -> updates.TestUpdate:
    base: dict[str, object] = {
        "state": state, "test": "circle", "t_s": 0.0, "duration_s": 130.0, "countdown_s": None, "waiting_for": [],
        "sequence": ["line", "circle", "spiral", "torus"], "index": 1, "round": 1, "rounds": 3,
    }  # fmt: skip
    return updates.TestUpdate(base | more)


def _test_running(station: Station) -> None:
    model = station.model
    _apply(model, updates.ModeUpdate("test"), _status("running", t_s=model.t_s, sequence=["circle"], rounds=1, index=0))
    values = {"folder": "recordings/circle", "messages": "21877"}
    current = (
        updates.CurrentUpdate(np.array([0.3, 0.0, 0.0])) if len(model.vehicles) > 2 else updates.ModeUpdate("test")
    )
    _apply(model, current, updates.DiagnosticUpdate("shoal: recorder", "recorder", 0, "recording", values))


def _test_waiting(station: Station) -> None:
    _apply(station.model, updates.ModeUpdate("test"), _status("waiting", countdown_s=3.2))
    limits = station.model.limits
    pair = ("rov1", "rov2")
    station.model.verdicts.append(TestVerdict("line", True, 6.2, 2.08, pair, pair, frozenset(), limits))
    for row in range(4):
        item = station.test_panel.tests.item(row)
        item.setCheckState(type(item.checkState()).Checked)
    station.test_panel.repeat.setValue(3)


def _draw_blueprint(station: Station) -> None:
    """An L, drawn and not saved."""
    panel = station.join_panel.platform
    panel.draft.clear()
    for cell in ((3, 5), (3, 6), (4, 5)):
        panel.draft.paint(cell, True)
    panel.wait_for_planner()
    station.join_panel.ensureWidgetVisible(panel.reshape)


def _waypoints(station: Station) -> None:
    for place in ((2.0, -3.0, 5.0), (5.0, 0.5, 6.5), (2.5, 4.0, 8.0), (-3.4, 0.4, 5.0)):
        station.waypoints.add(place)
    station.waypoints.mark_sent()
    station.waypoints.move(2, (3.2, 4.4, 8.0))
    station.view.adding.setChecked(True)
    _apply(
        station.model,
        updates.ModeUpdate("waypoints"),
        updates.QueueUpdate(np.array([[5.0, 0.5, 6.5], [2.5, 4.0, 8.0], [-3.4, 0.4, 5.0]])),
    )


def _tuning(station: Station) -> None:
    parameters = list(_parameters(NmpcSettings(), ""))
    station.model.apply(updates.GraphUpdate((), station.model.nodes, True), time.monotonic())
    station.tuning_panel.refresh(station.theme)
    station.tuning_panel.show_parameters(Description("/rov1/mpc", tuple(parameters)))
    reason = "limits: distance_soft_m = 0.5 < distance_hard_m = 0.75, expected ≥"
    station.tuning_panel._restore("limits.distance_soft_m", f"/rov1/mpc refuses: {reason}")


def _parameters(model: object, prefix: str) -> Iterator[ParameterInfo]:
    """As the controller node would describe them."""
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
    o, seen = b.odometry, multiply(b.odometry.attitude, multiply(turn, turn))
    moved = Odometry.of_parts(o.stamp_s, nearer, seen, o.velocity_mps, o.rate_radps)
    _apply(model, updates.OdometryUpdate(b.name, moved))
    b.thrust_N = np.array([39.9, -51.4, 22.0, -9.0, 7.0, -5.0, 51.4, 2.0])
    b.trail.clear()
    why = "odometry is 0.61 s old"
    values = {"mode": "station_keeping", "reason": why, "solve_ms": "4.1", "overruns": "2"}
    message = "keeping station: odometry is stale"
    _apply(model, updates.DiagnosticUpdate(f"shoal: {b.name} controller", b.name, 1, message, values))
    distance = float(np.linalg.norm(nearer - a.odometry.position_m))
    _apply(model, updates.EventUpdate(2, f"{a.name} and {b.name} are {distance:.2f} m apart, closer than 0.75 m"))


def _stopped(station: Station) -> None:
    """STOP holds; the plant has not confirmed it yet."""
    model = station.model
    stopped = StopState(3, True, "/fleet/stop")
    for name, vehicle in model.vehicles.items():
        vehicle.thrust_N = np.zeros(len(vehicle.thrust_N))
        values = {"mode": "zero_thrust", "reason": "stopped by /fleet/stop", "solve_ms": "0", "overruns": "0"}
        message = "zero thrust: stopped by the operator"
        _apply(model, updates.StopUpdate(f"/{name}/mpc", stopped))
        _apply(model, updates.DiagnosticUpdate(f"shoal: {name} controller", name, 2, message, values))
    _apply(model, updates.StopUpdate("/guidance", stopped), updates.StopUpdate("/dynamics", StopState(2)))


def _lost(station: Station) -> None:
    """One vehicle has been silent for seven seconds; another reports that it has lost contact."""
    model = station.model
    _test_running(station)
    names = list(model.vehicles)
    gone, other = model.vehicles[names[2]], names[1]
    assert gone.received_s is not None
    gone.received_s -= 7.0
    gone.thrust_N = np.full(len(gone.thrust_N), np.nan)
    values = {"mode": "controller", "reason": "", "solve_ms": "6.3", "overruns": "0"}
    message = f"lost contact with {gone.name}"
    _apply(model, updates.DiagnosticUpdate(f"shoal: {other} controller", other, 1, message, values))
