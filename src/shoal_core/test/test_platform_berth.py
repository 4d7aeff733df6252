"""Berthing: contact is told from latching by relative motion alone; time-outs, retries, stops; hulls and magnets."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.fleet.file import load_fleet
from shoal.messages.state import TWIST, State
from shoal.platform.berth import Berth, BerthSettings, Phase, Relative
from shoal.platform.jobs import Approach, Grid
from shoal.platform.model import PlanarPose
from shoal.platform.planner import berthing
from shoal.platform.watch import Watch
from shoal.simulation.conditions import load_condition
from shoal.simulation.connectors import Connectors
from shoal.simulation.world import World
from shoal.vehicles.parameters import mass_matrix

SETTINGS = BerthSettings()
STEP_S, HALF_M = 0.1, 0.19


class Vessel:
    """Follows what is wanted with a lag; hulls stop it at 0, and a magnet `at_m` along the hull may hold it."""

    def __init__(self, at_m: float | None, beside: bool = False) -> None:
        self.berth = Berth(SETTINGS, beside, HALF_M)
        self.at_m, self.out_m, self.aside_m, self.t_s, self.held = at_m, 0.4, 0.01, 0.0, False
        self.beside = beside
        self.phases: list[Phase] = []

    def run(self, seconds: float) -> Phase:
        for _ in range(round(seconds / STEP_S)):
            wanted = self.berth.step(self.t_s, Relative(self.out_m, self.aside_m, 0.0))
            if not self.held:
                self.out_m = max(0.0, self.out_m + 0.3 * (wanted.out_m - self.out_m))
                self.aside_m += 0.3 * (wanted.aside_m - self.aside_m)
                if self.beside and self.out_m < 0.1:
                    self.aside_m = max(0.0, self.aside_m)
                near = self.at_m is not None and abs(self.aside_m - self.at_m) < 0.004
                self.held = near and self.out_m < 0.0015
            self.t_s += STEP_S
            if not self.phases or self.phases[-1] is not self.berth.phase:
                self.phases.append(self.berth.phase)
        return self.berth.phase


@pytest.mark.parametrize("at_m", [0.0, 0.009, -0.009])
def test_magnets_off_the_drawing_are_found_along_the_hull(at_m: float) -> None:
    vessel = Vessel(at_m)
    assert vessel.run(60) is Phase.LATCHED
    assert vessel.phases == [Phase.LINE_UP, Phase.APPROACH, Phase.SEARCH, Phase.VERIFY, Phase.LATCHED]


def test_beside_a_hull_it_keeps_clear_then_slides_towards_it() -> None:
    vessel = Vessel(0.001, beside=True)
    vessel.run(8)
    assert vessel.aside_m > 0.01
    assert vessel.run(50) is Phase.LATCHED


def test_contact_alone_is_never_taken_for_a_latch_and_failing_takes_all_tries() -> None:
    vessel = Vessel(None)
    assert vessel.run(600) is Phase.FAILED
    assert Phase.LATCHED not in vessel.phases
    assert vessel.phases.count(Phase.BACK_OFF) == SETTINGS.tries - 1


def test_a_vessel_that_sticks_to_the_hull_comes_away_when_pulled() -> None:
    """Friction may hold it against the search; the tug tells."""
    vessel = Vessel(None)
    while vessel.berth.phase is not Phase.SEARCH:
        vessel.run(STEP_S)
    stuck = Relative(0.0, 0.001, 0.0)
    for k in range(20):
        vessel.berth.step(vessel.t_s + k * STEP_S, stuck)
    assert vessel.berth.phase is Phase.VERIFY
    wanted = vessel.berth.step(vessel.t_s + 2.1, stuck)
    assert wanted.out_m == pytest.approx(SETTINGS.tug_m)
    vessel.berth.step(vessel.t_s + 2.2, Relative(0.025, 0.001, 0.0))
    assert vessel.berth.phase is Phase.SEARCH


@pytest.mark.parametrize(
    ("from_m", "to_m", "phase"),
    [
        (0.0, 0.02, Phase.LATCHED),  # pulled off its place by the vessel
        (-0.024, -0.004, Phase.VERIFY),  # on its way back to it, seed 813 of tank_dead_vessel: proves nothing yet
        (-0.024, -0.024, Phase.VERIFY),
    ],
)
def test_a_pull_proves_a_latch_only_against_a_platform_that_does_not_come_after(
    from_m: float, to_m: float, phase: Phase
) -> None:
    """Nothing moves between the two in any of these; off its place along the way out, at a heading."""
    grid, site, plan = Grid((0, 1), (0.38, 0.20)), PlanarPose(2.0, 1.0, 1.2), berthing((0, 2), {(0, 1)})
    assert plan is not None and plan.side == (0, -1)
    approach = Approach("vessel1", plan, 0.0, Berth(SETTINGS, False, HALF_M))
    assert approach.berth is not None
    approach.berth.phase = Phase.VERIFY
    for k in range(round(SETTINGS.tug_s / STEP_S) + 1):
        off_m = from_m + (to_m - from_m) * k * STEP_S / SETTINGS.tug_s
        platform = site.then(PlanarPose(0.0, off_m))
        approach.berthing(k * STEP_S, grid, site, platform, PlanarPose(-0.012, 0.2))
    assert approach.berth.phase is phase
    k = 0
    while approach.berth.phase is Phase.VERIFY and k < 200:  # as far off as before, for good
        k += 1
        approach.berthing(SETTINGS.tug_s + k * STEP_S, grid, site, platform, PlanarPose(-0.012, 0.2))
    arrived = to_m > -0.005
    assert approach.berth.phase is (Phase.LATCHED if arrived else Phase.SEARCH)


def test_stop_and_lost_tracking() -> None:
    vessel = Vessel(0.0)
    while vessel.berth.phase is not Phase.APPROACH:
        vessel.run(STEP_S)
    vessel.berth.stopped(vessel.t_s)
    assert vessel.berth.phase is Phase.BACK_OFF
    assert vessel.run(60) is Phase.LATCHED
    blind = Berth(SETTINGS, False, HALF_M)
    for k in range(3000):
        blind.step(k * STEP_S, None)
    assert blind.phase is Phase.FAILED


def test_magnets_are_on_from_the_first_contact_on() -> None:
    """Before, they would speed up a vessel that still comes; once it has latched, backing off must not let it go."""
    vessel = Vessel(0.0)
    while vessel.berth.phase in (Phase.LINE_UP, Phase.APPROACH):
        assert not vessel.berth.magnets
        vessel.run(STEP_S)
    assert vessel.berth.phase is Phase.SEARCH and vessel.berth.magnets
    vessel.berth.stopped(vessel.t_s)
    assert vessel.berth.phase is Phase.BACK_OFF and vessel.berth.magnets
    away = Vessel(None)
    while Phase.BACK_OFF not in away.phases or away.berth.phase is not Phase.LINE_UP:
        away.run(STEP_S)
    assert not away.berth.magnets


@pytest.mark.parametrize(
    ("closing_mps", "turning_radps", "brakes"), [(0.012, 0.0, False), (0.026, 0.0, True), (0.013, 0.06, True)]
)
def test_near_the_hull_it_brakes_when_any_corner_closes_too_fast(
    closing_mps: float, turning_radps: float, brakes: bool
) -> None:
    berth, t_s, out_m = Berth(SETTINGS, False, HALF_M), 0.0, 0.10
    wanted = berth.step(t_s, Relative(out_m, 0.0, 0.0))
    while out_m > 0.02:
        t_s, out_m = t_s + STEP_S, out_m - STEP_S * (closing_mps if berth.phase is Phase.APPROACH else 0.0)
        wanted = berth.step(t_s, Relative(out_m, 0.0, turning_radps * t_s if berth.phase is Phase.APPROACH else 0.0))
    assert berth.phase is Phase.APPROACH
    assert (wanted.out_m >= out_m and wanted.out_mps == 0.0) is brakes


def test_in_the_search_it_comes_back_to_the_hull_before_it_slides_on() -> None:
    vessel = Vessel(None)
    while vessel.berth.phase is not Phase.SEARCH:
        vessel.run(STEP_S)
    t_s = vessel.t_s + STEP_S
    vessel.berth.step(t_s, Relative(0.0, 0.0, 0.0))
    wanted = vessel.berth.step(t_s + STEP_S, Relative(0.02, 0.001, 0.0))
    assert wanted.aside_m == pytest.approx(0.001) and wanted.out_m < 0.0
    for k in range(2, 20):  # felt there: the platform's frame is another
        wanted = vessel.berth.step(t_s + k * STEP_S, Relative(0.02, 0.001, 0.0))
    assert abs(wanted.aside_m - 0.001) > 0.5 * SETTINGS.lead_m


def test_who_never_comes_to_the_stand_off_is_given_up_at_once() -> None:
    berth = Berth(SETTINGS, False, HALF_M)
    for k in range(round((SETTINGS.line_up_s + 1) / STEP_S)):
        berth.step(k * STEP_S, Relative(0.40, 0.3, 0.0))
    assert berth.phase is Phase.FAILED and berth.never


def test_a_vessel_that_does_not_move_though_it_is_asked_to_is_stuck() -> None:
    watch, goal = Watch(), PlanarPose(1.0, 0.0)
    assert watch.stuck_s(0.0, PlanarPose(0.0, 0.0), goal) == 0.0
    assert watch.stuck_s(5.0, PlanarPose(0.01, 0.0), goal) == 5.0
    assert watch.stuck_s(6.0, PlanarPose(0.05, 0.0), goal) == 0.0  # it moves
    assert watch.stuck_s(9.0, PlanarPose(0.05, 0.0), PlanarPose(0.1, 0.0)) == 0.0  # and is there
    assert watch.stuck_s(20.0, PlanarPose(0.05, 0.0), goal) == 0.0
    assert watch.stuck_s(22.0, None, goal) == 0.0  # nobody sees it
    watch.stuck_s(30.0, PlanarPose(0.05, 0.0), goal)
    watch.begin_again()
    assert watch.stuck_s(40.0, PlanarPose(0.05, 0.0), goal) == 0.0


# -- hulls and magnets in the water -----------------------------------------------------------------------------------


def water(gap_m: float, along_m: float, armed: bool, speed_mps: float = 0.0) -> World:
    """Vessel 2 to starboard of vessel 1, so far from its hull; vessel 3 far away."""
    fleet, condition = load_fleet("vessels3"), load_condition("ideal")
    start = {
        "vessel1": State.at_rest((0.0, 0.0, 0.0), 0.0),
        "vessel2": State.at_rest((along_m, 0.2 + gap_m, 0.0), 0.0),
        "vessel3": State.at_rest((5.0, 5.0, 0.0), 0.0),
    }
    world = World(fleet, start, condition, 0, 0.05, 30.0)
    world.connectors = Connectors(world.plant, world.names)
    if armed:
        world.connectors.arm([("vessel1", "vessel2")])
    world.plant.states[1, TWIST] = [0, -speed_mps, 0, 0, 0, 0]
    return world


def momentum(world: World) -> np.ndarray:
    """(3,) of the first two, surge and sway with added mass in common axes; their headings stay close to zero."""
    vehicles = [v.vehicle for v in world.plant.vehicles[:2]]
    return sum((mass_matrix(v) @ s[TWIST])[:2] for v, s in zip(vehicles, world.states, strict=False))


def test_hulls_push_each_other_apart_and_momentum_stays() -> None:
    world = water(0.002, 0.0, armed=False, speed_mps=0.05)
    before = momentum(world)
    for _ in range(6):
        world.step(0.05)
    after = momentum(world)
    assert world.connectors is not None and world.connectors.impacts[0][3] == pytest.approx(0.05, rel=0.1)
    assert world.states[0, 8] < -0.01  # vessel 1 has been pushed
    assert after[1] == pytest.approx(before[1], rel=0.15)  # but for the drag of 0.3 s
    assert world.states[1, 1] - world.states[0, 1] > 0.195


@pytest.mark.parametrize(("along_m", "armed", "holds"), [(0.0, True, True), (0.012, True, False), (0.0, False, False)])
def test_magnets_hold_within_their_area_and_only_when_on(along_m: float, armed: bool, holds: bool) -> None:
    world = water(0.001, along_m, armed, speed_mps=0.005)
    for _ in range(20):
        world.step(0.05)
    assert bool(world.groups) is holds


def test_magnets_pull_at_some_millimetres_and_not_at_centimetres() -> None:
    near, far = water(0.004, 0.0, armed=True), water(0.04, 0.0, armed=True)
    for world in (near, far):
        for _ in range(10):
            world.step(0.05)
    assert near.states[1, 8] < -1e-3 or near.groups
    assert abs(far.states[1, 8]) < 1e-6
