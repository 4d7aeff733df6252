"""Phases of docking: order, funnel, waiting, backing off, aborts and tries."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from shoal.docking.phases import DockingPhases, DockingSettings, Phase, Seen

GOOD = Seen(gap_m=3.0, lateral_m=0.01, angle_deg=0.5, partner_age_s=0.1, camera_age_s=0.1)
STEP_S = 0.1


class Run:
    """The gap follows the separation at once."""

    def __init__(self, settings: DockingSettings | None = None, gap_m: float = 3.0) -> None:
        self.phases, self.t_s = DockingPhases(settings or DockingSettings(), gap_m), 0.0

    def go(self, seconds: float, seen: Seen = GOOD) -> Phase:
        for _ in range(round(seconds / STEP_S)):
            self.t_s += STEP_S
            self.phases.step(self.t_s, replace(seen, gap_m=self.phases.separation_m))
        return self.phases.phase

    def until(self, phase: Phase) -> None:
        for _ in range(600):
            if self.go(STEP_S) is phase:
                return
        raise AssertionError(f"never {phase}")


def test_whole_way_and_its_speeds() -> None:
    run = Run()
    run.until(Phase.ALIGN)
    assert run.t_s == pytest.approx((3.0 - 1.1) / 0.35, abs=0.25)
    run.until(Phase.CLOSE)
    began_s = run.t_s
    while run.phases.separation_m > 0:
        run.go(STEP_S)
    assert run.t_s - began_s == pytest.approx(math.log(1 + 0.2 * 1.1 / 0.05) / 0.2, abs=0.3)  # ṡ = −0.05 − 0.2 s
    run.go(2.5)
    assert run.phases.separation_m == pytest.approx(-0.03)
    assert run.go(STEP_S, replace(GOOD, latched=True)) is Phase.LATCHED
    assert run.go(5.0, replace(GOOD, partner_age_s=99.0)) is Phase.LATCHED


@pytest.mark.parametrize("bad", [{"lateral_m": 0.07}, {"angle_deg": 4.0}, {"camera_age_s": 2.0}])
def test_waits_at_the_stand_off_until_aligned_and_seen(bad: dict[str, float]) -> None:
    run = Run()
    run.until(Phase.ALIGN)
    assert run.go(5.0, replace(GOOD, **bad)) is Phase.ALIGN
    assert run.phases.separation_m == 1.1
    assert run.go(STEP_S) is Phase.CLOSE


def test_funnel_pauses_and_backs_off() -> None:
    run = Run()
    run.until(Phase.CLOSE)
    run.go(5.0)
    before = run.phases.separation_m
    outside = 1.2 * run.phases.funnel_m(before)
    run.go(2.0, replace(GOOD, lateral_m=outside))
    assert run.phases.separation_m == before
    run.go(2.0, replace(GOOD, lateral_m=3 * outside))
    assert run.phases.separation_m == pytest.approx(before + 2.0 * 0.05)
    run.go(2.0)
    assert run.phases.separation_m < before


@pytest.mark.parametrize(
    ("bad", "reason"), [({"partner_age_s": 5.0}, "partner lost"), ({"camera_age_s": 1.5}, "camera lost")]
)
def test_aborts_to_the_stand_off_and_tries_again(bad: dict[str, float], reason: str) -> None:
    run = Run()
    run.until(Phase.CLOSE)
    run.go(8.0)
    assert run.go(STEP_S, replace(GOOD, **bad)) is Phase.ABORT
    assert run.phases.reason == reason
    run.until(Phase.CLOSE)
    assert run.phases.tries == 2


@pytest.mark.parametrize(
    ("bad", "reason", "after_s"),
    [({"tilt_deg": 7.0}, "leaning", 0.9), ({"tilt_deg": 13.0}, "leaning", 0.1), ({}, "port missed", 3.1)],
)
def test_pushing_beside_the_port_ends_the_closing(bad: dict[str, float], reason: str, after_s: float) -> None:
    run = Run(DockingSettings(lean_ends=True))
    run.until(Phase.CLOSE)
    while run.phases.separation_m > 0:
        run.go(STEP_S)
    run.go(after_s - STEP_S, replace(GOOD, **bad))
    assert run.phases.phase is Phase.CLOSE
    assert run.go(2 * STEP_S, replace(GOOD, **bad)) is Phase.ABORT
    assert run.phases.reason == reason
    assert run.go(4.0) is Phase.ABORT  # 0.15 m/s, faster than it came
    assert run.phases.separation_m > 0.5
    run.go(6.0)
    assert (run.phases.phase is Phase.FAILED) == (reason == "leaning")  # at a hull nobody pushes twice


def test_a_wave_that_tilts_one_that_sees_costs_a_try_and_no_more() -> None:
    run = Run()
    for tries in (1, 2, 3):
        run.until(Phase.CLOSE)
        assert run.phases.tries == tries
        while run.phases.separation_m > 0.4:
            run.go(STEP_S)
        assert run.go(2 * STEP_S, replace(GOOD, tilt_deg=15.0)) is Phase.ABORT
        assert run.phases.reason == "leaning"
    assert run.go(10.0) is Phase.FAILED
    assert run.phases.separation_m > 1.0


def test_held_off_by_something_it_gives_up_but_not_for_a_moment() -> None:
    run = Run()
    run.until(Phase.CLOSE)
    while run.phases.separation_m > 0.4:
        run.go(STEP_S)
    behind = replace(GOOD, gap_m=run.phases.separation_m + 0.13)
    for _ in range(3):
        run.t_s += STEP_S
        run.phases.step(run.t_s, behind)
    assert run.go(STEP_S) is Phase.CLOSE
    for _ in range(6):
        run.t_s += STEP_S
        run.phases.step(run.t_s, replace(GOOD, gap_m=run.phases.separation_m + 0.13))
    assert (run.phases.phase, run.phases.reason) == (Phase.ABORT, "something in the way")


@pytest.mark.parametrize("phase", [Phase.APPROACH, Phase.ALIGN, Phase.CLOSE])
def test_lost_partner_aborts_any_phase_and_nothing_comes_nearer(phase: Phase) -> None:
    run = Run()
    run.go(STEP_S)
    if phase is not Phase.APPROACH:
        run.until(phase)
    before = run.phases.separation_m
    assert run.go(30.0, replace(GOOD, partner_age_s=9.0)) is Phase.ABORT
    assert run.phases.separation_m >= max(before, 1.1)


def test_time_outs_use_up_the_tries() -> None:
    run = Run(DockingSettings(longest_s=10.0, tries=2))
    askew = replace(GOOD, angle_deg=9.0)
    assert run.go(40.0, askew) is Phase.FAILED
    assert (run.phases.tries, run.phases.reason) == (2, "time-out")
    assert run.go(10.0) is Phase.FAILED


def test_search_ends_when_both_have_each_other_in_view() -> None:
    run = Run(gap_m=9.0)
    run.phases.phase = Phase.SEARCH
    assert run.go(5.0, replace(GOOD, camera_age_s=9.0)) is Phase.SEARCH
    assert run.phases.separation_m == run.phases.settings.search_m
    assert run.go(5.0, replace(GOOD, bearing_deg=40.0)) is Phase.SEARCH
    assert run.go(STEP_S) is Phase.APPROACH
    assert run.go(STEP_S, replace(GOOD, camera_age_s=4.0)) is Phase.SEARCH  # lost from sight again


def test_wide_bearing_holds_the_approach() -> None:
    run = Run(gap_m=4.0)
    run.go(1.0)
    before = run.phases.separation_m
    assert before < 4.0
    run.go(2.0, replace(GOOD, bearing_deg=19.0))
    assert run.phases.separation_m == before
    run.go(1.0)
    assert run.phases.separation_m < before


def test_leaving_goes_out_to_a_clear_distance_and_cancel_to_the_stand_off() -> None:
    run = Run(gap_m=0.0)
    run.phases.phase = Phase.LEAVE
    assert run.go(5.0) is Phase.LEAVE
    assert run.phases.separation_m == pytest.approx(0.15 * 5.0, abs=0.03)
    assert run.go(20.0) is Phase.CLEAR
    run = Run()
    run.until(Phase.CLOSE)
    run.go(3.0)
    run.phases.cancel()
    assert run.go(30.0) is Phase.FAILED
    assert (run.phases.reason, run.phases.separation_m) == ("cancelled", pytest.approx(1.1))
