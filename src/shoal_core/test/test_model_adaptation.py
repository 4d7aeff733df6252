"""Mass and drag that follow the motion: what is found, how fast, and what must not move them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shoal.estimation.model_adaptation import AdaptationSettings, ModelAdaptation, down_of
from shoal.frames import from_euler, matrix
from shoal.vehicles.description import Vehicle, load_vehicle

WU = load_vehicle("bluerov2_heavy", "wu2018")
VON_BENZON = load_vehicle("bluerov2_heavy", "von_benzon2022")
PERIOD_S = 0.05
LEVEL = (0.0, 0.0, 1.0)


class Loop:
    """An estimator that takes up half of what the model misses in each tenth of a second, around the adaptation."""

    def __init__(self, believed: Vehicle, true: Vehicle, settings: AdaptationSettings | None = None) -> None:
        self.adaptation = ModelAdaptation(believed, settings or AdaptationSettings())
        self.vehicle, self._true = believed, true
        self.wrench_N = np.zeros(3)
        self.changes: list[float] = []

    def run(
        self, duration_s: float, speed_mps: float = 0.0, extra: Callable[[float], np.ndarray] | None = None
    ) -> Loop:
        through = np.array([speed_mps, 0.0, 0.0])
        for k in range(round(duration_s / PERIOD_S)):
            t_s = k * PERIOD_S
            missing = _force(self._true, through) - _force(self.vehicle, through)
            missing += np.zeros(3) if extra is None else extra(t_s)
            self.wrench_N += 0.3 * (missing - self.wrench_N)
            change = self.adaptation.see(t_s, LEVEL, through.tolist(), self.wrench_N.tolist())
            if change is not None:
                self.vehicle = self.vehicle.scaled(mass=change.mass, damping=change.damping)
                self.wrench_N -= change.explained_N
                self.changes.append(t_s)
        return self


def _force(vehicle: Vehicle, through: np.ndarray) -> np.ndarray:
    """Weight, buoyancy and drag, level."""
    drag = np.diag(vehicle.linear_damping)[:3] + np.diag(vehicle.quadratic_damping)[:3] * np.abs(through)
    return np.array([0.0, 0.0, vehicle.weight_N - vehicle.buoyancy_N]) - drag * through


@pytest.mark.parametrize(("mass_kg", "within_s"), [(100.0, 4.0), (23.0, 12.0), (5.75, 12.0), (1.0, 20.0)])
def test_a_wrong_mass_is_found_the_sooner_the_more_it_is_off(mass_kg: float, within_s: float) -> None:
    loop = Loop(WU.scaled(mass=mass_kg / WU.mass_kg), WU).run(within_s)
    assert loop.vehicle.weight_N == pytest.approx(WU.weight_N, abs=0.2 * WU.buoyancy_N)
    assert loop.vehicle.mass_kg / WU.mass_kg == pytest.approx(loop.vehicle.weight_N / WU.weight_N)
    assert loop.adaptation.differs and loop.changes[0] >= 0.25
    assert loop.adaptation.mass_ratio * mass_kg == pytest.approx(loop.vehicle.mass_kg)
    assert np.abs(loop.wrench_N).max() < 0.2 * WU.buoyancy_N  # the model explains it now


def test_drag_is_found_while_moving_only() -> None:
    thick = VON_BENZON.scaled(damping=2.0)
    still, moving = Loop(VON_BENZON, thick).run(120.0), Loop(VON_BENZON, thick).run(120.0, speed_mps=0.8)
    assert still.adaptation.drag_ratio == 1.0 and not still.adaptation.differs
    assert moving.adaptation.drag_ratio == pytest.approx(2.0, abs=0.4)
    assert moving.adaptation.mass_ratio == 1.0


def test_waves_trim_and_a_jump_of_the_odometry_change_nothing() -> None:
    def waves(t_s: float) -> np.ndarray:
        return 40.0 * np.sin(2 * np.pi * t_s / 5 + np.array([0.0, 1.0, 2.0])) + np.array([0.0, 0.0, 5.0])

    def jump(t_s: float) -> np.ndarray:
        return np.array([0.0, 0.0, 400.0 if 10.0 <= t_s < 10.1 else 0.0])

    for extra in (waves, jump):
        assert not Loop(WU, WU).run(60.0, 0.25, extra).adaptation.differs


def test_what_is_found_stays_within_its_bounds() -> None:
    settings = AdaptationSettings(least_mass_ratio=0.5, most_mass_ratio=1.5)
    for force_N, bound in ((900.0, 1.5), (-900.0, 0.5)):
        loop = Loop(WU, WU, settings).run(60.0, extra=lambda t_s, f=force_N: np.array([0.0, 0.0, f]))  # type: ignore[misc]
        assert loop.adaptation.mass_ratio == pytest.approx(bound)
    off = Loop(WU.scaled(mass=5.0), WU, AdaptationSettings(enabled=False)).run(20.0)
    assert not off.adaptation.differs


def test_down_is_the_rotation_matrix_last_row() -> None:
    q = from_euler(0.3, -0.5, 2.0)
    assert down_of(q.tolist()) == pytest.approx(matrix(q)[2])
