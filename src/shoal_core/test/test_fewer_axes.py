"""Vehicles that cannot push along all six axes: terminal cost, fallbacks, and runs, alone and in a mixed fleet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_are, solve_continuous_lyapunov

import shoal.fleet.file as fleet_file
from shoal.control.nmpc.terminal import lasting_part, terminal_weight
from shoal.control.settings import Weights
from shoal.control.station_keeping import StationKeeping
from shoal.control.steady_thrust import SteadyThrust
from shoal.fleet.file import Fleet
from shoal.fleet.generate import resolve_fleet
from shoal.messages.health import Mode
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, simulate
from shoal.vehicles.description import Vehicle
from vehicles_for_tests import shipped, with_thrusters

Array = NDArray[np.float64]
HEAVY = shipped("wu2018").with_thrust_limit(16.6)
NO_PITCH, NO_ROLL = with_thrusters(HEAVY, 0, 1, 2, 3, 4, 5), with_thrusters(HEAVY, 0, 1, 2, 3, 4, 6)
SUNK = with_thrusters(HEAVY, 0, 1, 2, 3)  # nothing steers its depth, and nothing holds it
BOAT = replace(SUNK, waterplane=np.array([800.0, 30.0, 60.0]), buoyancy_N=HEAVY.weight_N)
KINDS = {"heavy": HEAVY, "no_pitch": NO_PITCH, "no_roll": NO_ROLL, "boat": BOAT}


def test_kinds() -> None:
    assert NO_PITCH.lost_axes() == ["pitch"] and NO_ROLL.lost_axes() == ["roll"]
    assert BOAT.lost_axes() == ["heave", "roll", "pitch"]


@pytest.mark.parametrize("vehicle", [HEAVY, NO_PITCH, NO_ROLL, BOAT])
def test_what_is_steered_or_comes_back_has_a_terminal_cost(vehicle: Vehicle) -> None:
    assert np.linalg.eigvalsh(terminal_weight(vehicle, Weights())).min() > 1.0


def test_what_nobody_steers_and_nothing_holds_has_none() -> None:
    found = terminal_weight(SUNK, Weights())
    values, vectors = np.linalg.eigh(found)
    assert values[0] == pytest.approx(0.0, abs=1e-8) and values[1] > 1.0
    assert np.abs(found[2]).max() < 1e-8  # depth costs nothing; its speed does, until it has died out
    assert found[8, 8] > 1.0
    assert np.abs(np.delete(vectors[:, 0], 2)).max() < 1e-6


def test_basis_against_a_riccati_equation_by_hand() -> None:
    """Two masses: one pushed, one on a spring, and a third that drifts; coordinates mixed at random."""
    rng = np.random.default_rng(8)
    mix, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    a, b = np.zeros((6, 6)), np.zeros((6, 1))
    a[0, 1], b[1, 0] = 1.0, 1.0  # pushed
    a[2, 3], a[3, 2], a[3, 3] = 1.0, -2.0, -0.5  # on a spring
    a[4, 5] = 1.0  # drifts
    found = lasting_part(mix @ a @ mix.T, mix @ b)
    assert found is not None
    kept, onto = found
    assert kept.shape == (6, 4)
    assert np.abs(onto @ mix[:, 4:]).max() < 1e-9  # what drifts does not count
    assert onto @ kept == pytest.approx(np.eye(4), abs=1e-12)
    p = solve_continuous_are(onto @ (mix @ a @ mix.T) @ kept, onto @ mix @ b, kept.T @ kept, np.eye(1))
    whole = mix.T @ onto.T @ p @ onto @ mix
    apart = np.zeros((6, 6))
    apart[:2, :2] = solve_continuous_are(a[:2, :2], b[:2], np.eye(2), np.eye(1))
    apart[2:4, 2:4] = solve_continuous_lyapunov(a[2:4, 2:4].T, -np.eye(2))
    assert whole == pytest.approx(apart, abs=1e-8)
    assert lasting_part(a[:4, :4], b[:4]) is None


@pytest.mark.parametrize("vehicle", KINDS.values(), ids=KINDS)
def test_fallbacks_push_where_they_can_and_nowhere_else(vehicle: Vehicle) -> None:
    """Steady motion ahead and station keeping beside the place: forces along the steerable axes as for the full one."""
    state = np.zeros(13)
    state[3] = 1.0
    still, moving = np.zeros(3), np.array([0.3, 0.1, 0.0])
    full = HEAVY if vehicle.waterplane is None else replace(HEAVY, buoyancy_N=vehicle.buoyancy_N)
    axes = [0, 1, 5]
    for kind in (vehicle, full):
        found = kind.input_matrix @ SteadyThrust(kind)(moving, 0.0, np.zeros(6), still)
        station = StationKeeping(kind)
        station.thrust(state, np.zeros(kind.input_count))
        away = state.copy()
        away[0:2] = -0.2, 0.1
        held = kind.input_matrix @ station.thrust(away, np.zeros(kind.input_count))
        if kind is vehicle:
            ours = found, held
    assert ours[0][axes] == pytest.approx(found[axes], abs=1e-9)
    assert ours[1][axes] == pytest.approx(held[axes], abs=1e-9)
    assert np.abs(ours[1][[0, 1]]).min() > 0.1


def fleet_of(monkeypatch: pytest.MonkeyPatch, like: str, *kinds: str) -> Fleet:
    fleet = resolve_fleet(like)
    monkeypatch.setattr(fleet_file, "load_vehicle", lambda name, _=None: KINDS[name])
    members = [
        m.model_copy(update={"type": kind, "thrust_limit_N": None})
        for m, kind in zip(fleet.vehicles, kinds, strict=True)
    ]
    return fleet.model_copy(update={"vehicles": tuple(members)})


def errors_m(recording: Recording, index: int) -> Array:
    """(T,) after the first 8 s."""
    settled = recording.times_s > 8.0
    gap = recording.states[settled, index, :3] - recording.setpoints_m[settled, index]
    return np.linalg.norm(gap, axis=1)


@pytest.mark.parametrize("kind", ["no_pitch", "no_roll", "boat"])
def test_circle_in_the_sea_trial(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = simulate(RunSpec("circle", fleet_of(monkeypatch, "one", kind), "default", 1, duration_s=15.0))
    assert set(run.mode.ravel().tolist()) == {Mode.CONTROLLER}
    assert run.issue_shares == {}
    assert errors_m(run, 0).max() < 0.05
    assert errors_m(run, 0).mean() < 0.02


def test_a_mixed_fleet_swims_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight and six thrusters, and the recording has both."""
    run = simulate(RunSpec("circle", fleet_of(monkeypatch, "two", "heavy", "no_pitch"), "default", 1, duration_s=15.0))
    assert [run.thrust_N[name].shape[1] for name in run.names] == [8, 6]
    assert set(run.mode.ravel().tolist()) == {Mode.CONTROLLER}
    for i in range(2):
        assert errors_m(run, i).max() < 0.1


def test_vessels_begin_afloat(monkeypatch: pytest.MonkeyPatch) -> None:
    run = simulate(RunSpec("circle", fleet_of(monkeypatch, "two", "heavy", "boat"), "ideal", 1, duration_s=2.0))
    assert np.abs(run.states[:, 1, 2]).max() < 0.1
    assert run.states[0, 0, 2] > 3.0
