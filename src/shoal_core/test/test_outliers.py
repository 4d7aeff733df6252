"""Single wrong measurements are left out, lasting ones followed; nothing of either is blamed on the water."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.estimation.actuator_state import Segment
from shoal.estimation.ekf import EstimatorSettings, StateEstimator
from shoal.estimation.outliers import OutlierSettings, Refusals
from shoal.frames import from_yaw, yaw_of
from shoal.messages.health import Code
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.functions import VehicleModel
from swim import PERIOD_S, Swim, codes

VEHICLE = load_vehicle("bluerov2_heavy", "wu2018")
LEVEL = np.array([0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=float)
OFF = EstimatorSettings(outliers=OutlierSettings(enabled=False))


class AtRest:
    """A vehicle at rest whose odometry is noisy as described, and wrong as asked for."""

    def __init__(self, settings: EstimatorSettings | None = None, period_s: float = 0.05) -> None:
        self.estimator = StateEstimator(VEHICLE, settings or EstimatorSettings())
        self._thrust, self._rng = VehicleModel(VEHICLE).trim(), np.random.default_rng(5)
        self._k, self._period_s = 0, period_s
        self.measure()

    def measure(self, where: slice = POSITION, by: np.ndarray | None = None) -> None:
        state = LEVEL.copy()
        if by is not None:
            state[where] = by if where == ATTITUDE else state[where] + by
        state[POSITION] += 0.02 * self._rng.standard_normal(3)
        state[VELOCITY] += 0.01 * self._rng.standard_normal(3)
        state[RATE] += 0.0087 * self._rng.standard_normal(3)
        odometry = Odometry(self._k * self._period_s, state)
        self._k += 1
        if self._k == 1:
            self.estimator.reset(odometry)
            return
        for _ in range(max(1, round(self._period_s / 0.1))):
            step_s = min(0.1, self._period_s)
            self.estimator.predict(self._thrust, Segment.steady(self._thrust, step_s))
        self.estimator.correct(odometry)

    def off_m(self) -> float:
        return float(np.linalg.norm(self.estimator.state[POSITION] - LEVEL[POSITION]))

    def apart_from(self, other: AtRest) -> tuple[float, float, float]:
        """Position in m, force in N, current in m/s."""
        a, b = self.estimator, other.estimator
        pairs = (a.state[POSITION], b.state[POSITION]), (a.wrench[:3], b.wrench[:3]), (a.current, b.current)
        position_m, force_N, current_mps = (float(np.abs(x - y).max()) for x, y in pairs)
        return position_m, force_N, current_mps


@pytest.mark.parametrize("size_m", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("period_s", [0.05, 0.2])
def test_an_outlier_moves_nothing(size_m: float, period_s: float) -> None:
    """Against the same noise without the outlier."""
    apart = {}
    for settings in (EstimatorSettings(), OFF):
        with_it, without = AtRest(settings, period_s), AtRest(settings, period_s)
        for k in range(60):
            without.measure()
            with_it.measure(POSITION, np.array([size_m if k == 59 else 0.0, 0.0, 0.0]))
        surprised = with_it.estimator.surprises
        apart[settings is OFF] = with_it.apart_from(without)
        with_it.measure()
        assert not with_it.estimator.surprises
        if settings is not OFF:
            assert [(s.block, s.believed) for s in surprised] == [(0, False)] and abs(surprised[0].off - size_m) < 0.2
    assert apart[False][0] < 0.02 and apart[False][1] < 1.0 and apart[False][2] < 0.02
    assert apart[False][0] < 0.008 < 0.02 * size_m < apart[True][0]  # the filter alone follows


@pytest.mark.parametrize(
    ("where", "by"),
    [(VELOCITY, [0.0, 1.5, 0.0]), (RATE, [0.0, 0.0, 4.0]), (ATTITUDE, from_yaw(np.array([1.0]))[0])],
)
def test_any_part_of_a_measurement_may_be_the_outlier(where: slice, by: object) -> None:
    rest = AtRest()
    for _ in range(60):
        rest.measure()
    before = rest.estimator.state.copy()
    rest.measure(where, np.asarray(by))
    assert len(rest.estimator.surprises) == 1
    np.testing.assert_allclose(rest.estimator.state, before, atol=0.05)


@pytest.mark.parametrize("period_s", [0.05, 0.5, 1.0])
def test_a_correction_of_the_map_is_followed_slowly_and_not_blamed_on_the_water(period_s: float) -> None:
    rest, without = AtRest(period_s=period_s), AtRest(period_s=period_s)
    for _ in range(60):
        rest.measure()
        without.measure()
    steps, believed_s, jump = [], None, np.array([0.8, -0.6, 0.0])
    before = rest.estimator.state[POSITION].copy()
    for k in range(round(8.0 / period_s)):
        rest.measure(POSITION, jump)
        without.measure()
        if any(s.believed for s in rest.estimator.surprises):
            believed_s = k * period_s
        steps.append(np.linalg.norm(rest.estimator.state[POSITION] - before))
        before = rest.estimator.state[POSITION].copy()
        _, force_N, current_mps = rest.apart_from(without)
        assert force_N < 3.0 + 4.0 * period_s and current_mps < 0.15
    assert believed_s is not None and believed_s <= (0.2 if period_s == 0.05 else 2.0)
    assert max(steps) < 0.34 * period_s + 0.04  # a third of a metre per second, and the noise
    np.testing.assert_allclose(rest.estimator.state[POSITION] - LEVEL[POSITION], jump, atol=0.05)


def test_a_heading_that_jumps_is_followed_too() -> None:
    rest, turned = AtRest(), from_yaw(np.array([np.radians(40.0)]))[0]
    for _ in range(60):
        rest.measure()
    for _ in range(10):
        rest.measure(ATTITUDE, turned)
    assert abs(np.degrees(yaw_of(rest.estimator.state[ATTITUDE])) - 40.0) < 2.0
    assert np.abs(rest.estimator.state[RATE]).max() < 0.05 and np.abs(rest.estimator.wrench[3:]).max() < 1.0


def test_a_first_position_that_is_an_outlier_is_not_believed_for_long() -> None:
    rest = AtRest()
    rest.estimator.reset(Odometry(0.0, LEVEL + np.eye(13)[0] * 50.0))
    assert rest.off_m() > 49.0
    rest.measure()
    assert rest.off_m() < 0.1 and rest.estimator.position_sigma_m == np.inf  # either may be wrong: nobody moves
    for _ in range(3):
        rest.measure()
    assert rest.off_m() < 0.1 and rest.estimator.position_sigma_m < 0.1


def test_positions_worse_than_described_are_no_outliers() -> None:
    """One sigma of 0.15 m instead of 0.02 m: below what counts as scatter, far beyond six sigmas."""
    rest, rng = AtRest(), np.random.default_rng(8)
    refused = 0
    for _ in range(400):
        rest.measure(POSITION, 0.15 * rng.standard_normal(3))
        refused += any(not s.believed for s in rest.estimator.surprises)
    assert refused < 20 and rest.off_m() < 0.3


def test_those_that_disagree_are_believed_when_patience_ends() -> None:
    refusals, rng = Refusals(OutlierSettings(), 0.2), np.random.default_rng(2)
    believed = [refusals.add(0.05 * k, 5.0 * rng.standard_normal(3)) is not None for k in range(80)]
    assert believed.index(True) == 61  # 3 s


def test_the_vehicle_stays_and_says_why() -> None:
    swim = Swim()
    swim.run(4.0)
    far = np.zeros(13)
    far[0] = 5.0

    def every_twentieth(s: Swim) -> Odometry:
        return Odometry(s.t_s, s.plant.states[0] + (far if s.k % 20 == 0 else 0.0))

    health = swim.run(4.0, every_twentieth)
    assert swim.off_m() < 0.1
    assert any(Code.ODOMETRY_OUTLIER in codes(h) for h in health)
    assert not any(Code.MAP_CORRECTED in codes(h) for h in health)


def test_a_corrected_map_gives_no_jolt() -> None:
    """The thrust changes no more from step to step than it does anyway, and the vehicle arrives at the new place."""
    swim = Swim()
    swim.run(6.0)
    jump, last, steps = np.zeros(13), swim.thrust_N.copy(), []
    jump[1] = 1.0

    def jumped(s: Swim) -> Odometry:
        steps.append(float(np.abs(s.thrust_N - last).max()))
        last[:] = s.thrust_N
        return Odometry(s.t_s, s.plant.states[0] + jump)

    health = swim.run(8.0, jumped)
    assert any(Code.MAP_CORRECTED in codes(h) for h in health)
    assert max(steps) < 3.0  # N; 8 N and more without the blending
    assert abs(swim.off_m() - 1.0) < 0.1 and PERIOD_S == 0.05
