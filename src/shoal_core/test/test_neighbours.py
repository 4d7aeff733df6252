"""Where the others are expected, all at once, against each one computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.control.nmpc.others import arrange, choose
from shoal.fleet.neighbours import FRESH_S, NeighbourSettings, forecast
from shoal.guidance.give_way import headings
from shoal.messages.limits import Limits
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview

Array = NDArray[np.float64]
TIMES_S = 10.0 + np.linspace(0.0, 2.0, 21)
SETTINGS = NeighbourSettings()


def plan(name: str, rng: np.random.Generator, start_s: float, points: int, committed: bool = True) -> Plan:
    times = start_s + np.cumsum(rng.uniform(0.02, 0.3, points))
    places, velocities = rng.uniform(-5, 5, (points, 3)), rng.uniform(-1, 1, (points, 3))
    return Plan(name, 1, start_s, times, places, velocities, committed)


def by_hand(received: Plan, t_s: float) -> Array:
    """One axis at a time by numpy's own interpolation, the end velocities outside."""
    inside = [np.interp(t_s, received.times_s, axis) for axis in received.positions_m.T]
    before, after = min(0.0, t_s - received.times_s[0]), max(0.0, t_s - received.times_s[-1])
    return np.array(inside) + before * received.velocities_mps[0] + after * received.velocities_mps[-1]


@pytest.mark.parametrize("seed", range(5))
def test_plans_of_all_lengths_are_read_as_by_hand(seed: int) -> None:
    """Those that began already, begin later, have one point only."""
    rng = np.random.default_rng(seed)
    plans = [plan(f"v{i}", rng, 10.0 + rng.uniform(-1, 1.0), int(rng.integers(20, 40))) for i in range(6)]
    plans += [plan("single", rng, 11.9, 1)]
    known = forecast(plans, 10.2, TIMES_S, {}, SETTINGS)
    for received, positions in zip(plans, known.positions_m, strict=True):
        assert TIMES_S[-1] - received.times_s[-1] < FRESH_S  # else another rule
        np.testing.assert_allclose(positions, [by_hand(received, t) for t in TIMES_S], atol=1e-12)
        np.testing.assert_allclose(received.at(TIMES_S), positions, atol=1e-12)


def test_a_plan_that_ran_out_goes_home_or_fades() -> None:
    rng = np.random.default_rng(1)
    old = plan("a", rng, 4.0, 5)
    home = Preview(np.array([0.0]), np.array([[3.0, 2.0, 1.0]]), np.zeros((1, 3)))
    end_s, end_m, velocity = old.times_s[-1], old.positions_m[-1], old.velocities_mps[-1]
    fade = np.exp(-(TIMES_S - end_s) / SETTINGS.settle_s)[:, None]
    homing = forecast([old], 10.0, TIMES_S, {"a": home}, SETTINGS).positions_m[0]
    np.testing.assert_allclose(homing, home.positions_m + fade * (end_m - home.positions_m))
    fading = forecast([old], 10.0, TIMES_S, {}, SETTINGS).positions_m[0]
    np.testing.assert_allclose(fading, end_m + SETTINGS.settle_s * (1 - fade) * velocity)


def test_old_and_uncommitted_plans_keep_others_further_off() -> None:
    rng = np.random.default_rng(2)
    received = [plan("new", rng, 10.0, 30), plan("second", rng, 9.0, 30), plan("minute", rng, -50.0, 30)]
    received += [plan("doubtful", rng, 10.0, 30, committed=False), plan("future", rng, 10.5, 30)]
    known = forecast(received, 10.0, TIMES_S, {}, SETTINGS)
    s = SETTINGS
    expected = [0.0, min(0.5 * s.acceleration_mps2, s.speed_mps), s.max_margin_m, s.uncommitted_m, 0.0]
    np.testing.assert_allclose(known.margins_m, expected)
    np.testing.assert_allclose(known.ages_s, [0, 1, 60, 0, 0])


def test_places_go_to_those_to_be_seen_and_then_to_the_nearest() -> None:
    still = [
        Plan(name, 1, 10.0, np.array([10.0]), np.array([[distance, 0.0, 0.0]]), np.zeros((1, 3)))
        for name, distance in (("far", 9.0), ("near", 2.0), ("seen", 7.0), ("middle", 4.0))
    ]
    known = forecast(still, 10.0, TIMES_S, {}, SETTINGS)
    must_see = frozenset({"seen"})
    chosen = choose(known, np.zeros(3), must_see, 3)
    assert chosen.names == ("seen", "near", "middle")
    others = arrange(chosen, must_see, 4, len(TIMES_S), Limits())
    assert others.positions_m[:, 0, 0].tolist() == [7.0, 2.0, 4.0, 1000.0]
    assert others.seen.tolist() == [1.0, 0.0, 0.0, 0.0]
    nobody = forecast([], 10.0, TIMES_S, {}, SETTINGS)
    assert not arrange(choose(nobody, np.zeros(3), must_see, 2), must_see, 2, len(TIMES_S), Limits()).seen.any()


def test_headings_look_between_those_to_be_seen() -> None:
    reference = Preview(TIMES_S, np.zeros((21, 3)), np.zeros((21, 3)), np.full(21, 0.3))

    def looking_at(*places: tuple[float, float]) -> float:
        plans = [
            Plan(str(i), 1, 10.0, np.array([10.0]), np.array([[n, e, 0.0]]), np.zeros((1, 3)))
            for i, (n, e) in enumerate(places)
        ]
        seen_m = forecast(plans, 10.0, TIMES_S, {}, SETTINGS).positions_m
        return float(np.rad2deg(headings(np.zeros(3), seen_m, reference, 0.7)[0]))

    assert looking_at((0.0, 5.0)) == pytest.approx(90)
    assert looking_at((5.0, 0.0), (0.0, 1.0)) == pytest.approx(45)  # by direction, not by distance
    assert looking_at((5.0, 0.0), (-3.0, 0.0)) == pytest.approx(np.rad2deg(0.7))  # opposite sides: as it is
    assert looking_at((0.0, 0.0)) == pytest.approx(np.rad2deg(0.7))
    assert looking_at() == pytest.approx(np.rad2deg(0.3))  # nobody: as the reference wants
