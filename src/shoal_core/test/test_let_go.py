"""Too little thrust for the place: it is given up, said, and taken again; upright, on the plant's truth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from closed_loop import changed, simulated
from shoal.control.base import Estimate
from shoal.fleet.let_go import LetGo, LetGoSettings
from shoal.messages.directive import Directive
from shoal.messages.health import Code
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal.recordings.recording import Recording
from shoal.vehicles.description import Vehicle, load_vehicle

Array = NDArray[np.float64]
PERIOD_S = 0.05
PLACE_M = np.array([0.0, 0.0, 5.0])
HOLD = Directive("hold", Preview(np.zeros(1), PLACE_M[None], np.zeros((1, 3)), np.zeros(1)))


class Drift:
    """A vehicle that does what its goal says, in a current that its estimate knows."""

    def __init__(self, vehicle: Vehicle, off_m: tuple[float, float, float], settings: LetGoSettings | None = None):
        self.rule = LetGo(settings or LetGoSettings())
        self.rule.set_vehicle(vehicle)
        self.count, self.t_s, self.at_m = vehicle.input_count, 0.0, PLACE_M + off_m

    def run(self, seconds: float, current_mps: tuple[float, float, float]) -> list[Directive]:
        found = []
        for _ in range(round(seconds / PERIOD_S)):
            state = np.array([*self.at_m, 1.0, *np.zeros(9)])
            odometry = Odometry(self.t_s, state)
            current, still = np.array(current_mps), np.zeros(6)
            estimate = Estimate(self.t_s, self.t_s, state, still, current, True, np.zeros(self.count), odometry)
            found.append(self.rule.goal(estimate, HOLD))
            if self.adrift:
                self.at_m = self.at_m + PERIOD_S * found[-1].setpoint.velocities_mps[0]
            self.t_s += PERIOD_S
        return found

    @property
    def adrift(self) -> bool:
        return [issue.code for issue in self.rule.issues()] == [Code.ADRIFT]


@pytest.fixture(scope="module")
def rov() -> Vehicle:
    return load_vehicle("bluerov2_heavy")


def test_a_place_that_can_be_held_is_held_however_far_it_is(rov: Vehicle) -> None:
    assert all(d is HOLD for d in Drift(rov, (-3.0, 1.0, 0.5)).run(5.0, (-0.6, 0.0, 0.0)))


def test_who_is_at_its_place_keeps_it(rov: Vehicle) -> None:
    assert all(d is HOLD for d in Drift(rov, (-0.2, 0.0, 0.0)).run(5.0, (-1.5, 0.0, 0.0)))


def test_lack_of_thrust_must_last(rov: Vehicle) -> None:
    drift = Drift(rov, (-0.4, 0.0, 0.0))
    for _ in range(5):
        assert all(d is HOLD for d in drift.run(0.4, (-1.5, 0.0, 0.0)) + drift.run(0.1, (-0.5, 0.0, 0.0)))


def test_swept_the_other_way_is_no_lack(rov: Vehicle) -> None:
    assert all(d is HOLD for d in Drift(rov, (0.4, 0.0, 0.0)).run(5.0, (-1.5, 0.0, 0.0)))


def test_it_drifts_as_little_as_thrust_allows_and_keeps_its_depth(rov: Vehicle) -> None:
    drift = Drift(rov, (-0.4, 0.3, 1.0))
    goal = drift.run(8.0, (-1.5, 0.0, 0.0))[-1]
    assert drift.adrift
    assert goal.setpoint.velocities_mps == pytest.approx(np.tile(goal.setpoint.velocities_mps[0], (9, 1)))
    north, east, down = goal.setpoint.velocities_mps[0]
    # Thrust for surge is 129 N, 85 % of which is drag at 0.84 m/s: the rest of the current carries it away.
    assert -0.75 < north < -0.55
    assert abs(east) < 0.1
    assert goal.setpoint.positions_m[0] == pytest.approx(drift.at_m, abs=PERIOD_S)
    assert goal.setpoint.headings_rad == pytest.approx(np.zeros(9))
    assert abs(drift.at_m[2] - PLACE_M[2]) < 0.15 and abs(down) < 0.1  # one metre off, it has come back


def test_it_comes_back_and_holds_its_place_again_once(rov: Vehicle) -> None:
    drift = Drift(rov, (-0.4, 0.0, 0.0))
    drift.run(4.0, (-1.5, 0.0, 0.0))
    assert drift.adrift and drift.at_m[0] < -2.0
    back = drift.run(15.0, (-0.3, 0.0, 0.0))
    held = [d is HOLD for d in back]
    assert not held[0] and held[-1] and np.diff(held).sum() == 1  # no to and fro
    assert not drift.adrift
    assert np.linalg.norm(drift.at_m - PLACE_M) < 0.25


def test_nothing_is_missing_along_axes_that_nobody_steers() -> None:
    boat = load_vehicle("boat")
    assert "heave" not in boat.controlled_axes
    assert all(d is HOLD for d in Drift(boat, (-0.5, 0.0, 2.0)).run(2.0, (-0.1, 0.0, 0.0)))


def test_switched_off_the_place_is_wanted_whatever_the_water_does(rov: Vehicle) -> None:
    drift = Drift(rov, (-0.4, 0.0, 0.0), LetGoSettings(enabled=False))
    assert all(d is HOLD for d in drift.run(5.0, (-1.5, 0.0, 0.0)))


def adrift(run: Recording) -> list[bool]:
    """Of each event of the vehicle, whether it says so."""
    (name,) = run.names
    return [any(i.code is Code.ADRIFT for i in e.issues) for e in run.events if e.vehicle == name]


def tilts_deg(run: Recording) -> Array:
    """(T,) from the plant's own attitudes."""
    q = run.states[:, 0, 3:7]
    return np.asarray(np.degrees(np.arccos(1 - 2 * (q[:, 1] ** 2 + q[:, 2] ** 2))))


def test_a_pair_that_loses_a_module_in_a_strong_current_stays_upright() -> None:
    current = {"currents": [{"kind": "constant", "velocity_mps": [-0.8, 0.0, 0.0]}]}
    dead = [{"vehicle": 0, "kind": "module_dead", "module": "port", "from_s": 8.0}]
    condition = changed(environment=current, faults=dead, start={"radius_m": 0.0})
    run = simulated("line", "pair_turned", condition, duration_s=20.0)
    assert adrift(run)[-1]
    assert tilts_deg(run)[run.times_s > 5.0].max() < 35.0  # it turns over without the rule


def test_a_current_that_is_too_strong_for_a_while() -> None:
    comes_and_goes = [
        {"kind": "constant", "velocity_mps": [-0.45, 0.0, 0.0]},
        {"kind": "square", "amplitude_mps": [-0.6, 0.0, 0.0], "half_period_s": 10.0},
    ]
    condition = changed(environment={"currents": comes_and_goes}, start={"radius_m": 0.0})
    run = simulated("line", "one", condition, duration_s=19.9)
    off_m = np.linalg.norm(run.states[:, 0, :3] - run.reference_m, axis=1)
    assert tilts_deg(run)[run.times_s > 4.0].max() < 20.0  # 48 degrees without the rule
    assert off_m[run.times_s < 10.2].max() > 1.5  # swept away
    assert off_m[-1] < 0.1 and any(adrift(run)) and not adrift(run)[-1]  # and back
