"""The PID: goes where it should without a model of weight or water, keeps off, keeps level, and has margin to spare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from closed_loop import changed, figures
from shoal.control.base import ControllerContext, ControlOutput, Estimate, Neighbours
from shoal.control.pid import PidController, PidSettings
from shoal.frames import matrix, rotation_matrix, tilt_rad, yaws_of
from shoal.messages.directive import Directive
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.health import Code
from shoal.messages.limits import Limits
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY, State
from shoal.simulation.plant import Plant
from shoal.simulation.water import Constant
from shoal.tasks.run import RunSpec, simulate
from shoal.vehicles.description import Vehicle, load_vehicle
from vehicles_for_tests import full_matrices, with_thrusters

Array = NDArray[np.float64]
VEHICLE = load_vehicle("bluerov2_heavy", "wu2018").with_thrust_limit(16.6)
PERIOD_S, DEPTH_M = 0.05, 5.0


class Known:
    """Neighbours that stand still."""

    def __init__(self, **positions_m: tuple[float, float, float]) -> None:
        self._at, self.margin_m = positions_m, 0.0

    def at(self, times_s: Array) -> Neighbours:
        points = np.array(list(self._at.values())).reshape(-1, 1, 3)
        count = len(self._at)
        margins = np.full(count, self.margin_m)
        return Neighbours(tuple(self._at), np.zeros(count), np.repeat(points, len(times_s), axis=1), margins)


def make(vehicle: Vehicle = VEHICLE, settings: PidSettings | None = None) -> PidController:
    return PidController(ControllerContext("a", vehicle, settings or PidSettings(), Limits(), PERIOD_S, ("b",)))


def at_rest(x: float = 0.0, yaw_rad: float = 0.0) -> Array:
    return State.at_rest((x, 0.0, DEPTH_M), yaw_rad).array


def point(x: float = 0.0, yaw_rad: float = 0.0, speed_mps: float = 0.0) -> Preview:
    """On the x axis, perhaps moving along it."""
    times = np.linspace(0.0, 60.0, 601)
    positions = np.stack([x + speed_mps * times, 0 * times, np.full_like(times, DEPTH_M)], axis=1)
    return Preview(times, positions, np.tile([speed_mps, 0.0, 0.0], (601, 1)), np.full(601, yaw_rad))


def step(
    controller: PidController,
    state: Array,
    goal: Preview,
    known: Known | None = None,
    t_s: float = 0.0,
    must_see: frozenset[str] = frozenset(),
    reliable: bool = True,
) -> ControlOutput:
    thrusters = len(controller._lower)
    estimate = Estimate(t_s, t_s, state, np.zeros(6), np.zeros(3), reliable, np.zeros(thrusters), Odometry(t_s, state))
    return controller.step(t_s, estimate, Directive("follow", goal, must_see), known or Known())


def swim(
    controller: PidController,
    plant: Plant,
    goal: Preview,
    seconds: float,
    known: Known | None = None,
    must_see: frozenset[str] = frozenset(),
) -> Array:
    """States (T,13) of the plant, lag, dead band and all."""
    states = []
    for k in range(round(seconds / PERIOD_S)):
        output = step(controller, plant.states[0].copy(), goal, known, k * PERIOD_S, must_see)
        assert output.usable
        plant.step(output.thrust_N[None], PERIOD_S)
        states.append(plant.states[0].copy())
    return np.array(states)


def tilts_deg(states: Array) -> Array:
    return np.degrees([tilt_rad(state[ATTITUDE]) for state in states])


# -- where it goes ------------------------------------------------------------------------------------------------


def test_goes_to_a_point_without_rushing_past_it() -> None:
    states = swim(make(), Plant([VEHICLE], at_rest()[None]), point(3.0), 15.0)
    assert states[-1, POSITION] == pytest.approx([3.0, 0.0, DEPTH_M], abs=0.01)
    assert states[:, 0].max() < 3.0 + 0.08
    assert 0.6 < states[:, 7].max() < 0.8  # the largest speed from afar is 0.7 m/s


def test_feed_forward_follows_a_point_that_speeds_up_and_turns() -> None:
    """0.15 m/s² and 20°/s: without its acceleration it trails by 4 cm, without drag by 6 cm, without the turn by 9°."""
    times = np.linspace(0.0, 4.0, 41)
    positions = np.stack([0.075 * times**2, 0 * times, np.full_like(times, DEPTH_M)], axis=1)
    velocities = np.outer(0.15 * times, [1.0, 0.0, 0.0])
    goal = Preview(times, positions, velocities, np.radians(20) * times)
    start = at_rest()
    start[RATE] = 0.0, 0.0, np.radians(20)
    states = swim(make(), Plant([VEHICLE], start[None]), goal, 3.5)
    t_s = PERIOD_S * np.arange(1, len(states) + 1)
    assert np.abs(states[:, 0] - 0.075 * t_s**2).max() < 0.02
    assert np.degrees(np.abs(yaws_of(states[:, ATTITUDE]) - np.radians(20) * t_s)).max() < 3.0


def test_integrators_carry_a_weight_and_a_current_it_does_not_know_of() -> None:
    heavy = replace(VEHICLE, weight_N=VEHICLE.weight_N + 15.0)
    plant = Plant([heavy], at_rest()[None], current=Constant([0.3, -0.2, 0.0]))
    states = swim(make(), plant, point(), 25.0)
    assert states[-1, POSITION] == pytest.approx([0.0, 0.0, DEPTH_M], abs=0.01)
    without = PidSettings.model_validate({"position": {"integral_per_s2": 0.0}})
    plant = Plant([heavy], at_rest()[None], current=Constant([0.3, -0.2, 0.0]))
    states = swim(make(settings=without), plant, point(), 25.0)
    assert np.linalg.norm(states[-1, POSITION] - [0.0, 0.0, DEPTH_M]) > 0.15


def test_integrators_keep_a_badly_trimmed_vehicle_level() -> None:
    """Its centre of gravity 1 cm to the side is 1.1 N m of heel: 8° without the integrator."""
    heeled = replace(VEHICLE, cg_m=VEHICLE.cg_m + [0.0, 0.01, 0.0])
    states = swim(make(), Plant([heeled], at_rest()[None]), point(), 12.0)
    assert tilts_deg(states[-1:])[0] < 0.5


def test_both_quaternions_of_an_attitude_are_the_same_attitude() -> None:
    """Or it would turn the long way round."""
    state = at_rest(yaw_rad=3.0)
    thrust = step(make(), state, point(0.0, -3.0)).thrust_N
    assert (VEHICLE.thrust_matrix @ thrust)[5] > 0.5  # on through 180°: 16° to go, not 344°
    state[ATTITUDE] *= -1
    assert step(make(), state, point(0.0, -3.0)).thrust_N == pytest.approx(thrust)


def test_what_saturates_does_not_wind_up() -> None:
    """A current stronger than the thrusters for 10 s; then it ends. Wound up, it would shoot past the point."""

    def overshoot_m(anti_windup: float) -> float:
        controller = make(settings=PidSettings(anti_windup_per_s=anti_windup))
        plant = Plant([VEHICLE], at_rest()[None], current=Constant([-1.9, 0.0, 0.0]))
        washed = swim(controller, plant, point(), 10.0)
        assert washed[-1, 0] < -1.0
        plant = Plant([VEHICLE], washed[-1][None])
        return float(swim(controller, plant, point(), 20.0)[:, 0].max())

    assert overshoot_m(PidSettings().anti_windup_per_s) < 0.5
    assert overshoot_m(0.0) > 1.0


def test_rights_itself_from_any_attitude() -> None:
    rng = np.random.default_rng(4)
    for _ in range(5):
        state = at_rest()
        q = rng.standard_normal(4)
        state[ATTITUDE], state[RATE] = q / np.linalg.norm(q), rng.uniform(-1, 1, 3)
        states = swim(make(), Plant([VEHICLE], state[None]), point(0.0, 1.0), 12.0)
        assert tilts_deg(states[-1:])[0] < 1.0
        assert states[-1, POSITION] == pytest.approx([0.0, 0.0, DEPTH_M], abs=0.05)
        bow = matrix(states[-1, ATTITUDE])[:, 0]
        assert np.degrees(np.arctan2(bow[1], bow[0])) == pytest.approx(np.degrees(1.0), abs=2.0)


@pytest.mark.parametrize("vehicle", [full_matrices().with_thrust_limit(16.6), load_vehicle("bluerov2_heavy", "ng2024")])
def test_gains_suit_any_vehicle(vehicle: Vehicle) -> None:
    small = replace(
        vehicle,
        mass_kg=vehicle.mass_kg / 10,
        weight_N=vehicle.buoyancy_N / 10,
        buoyancy_N=vehicle.buoyancy_N / 10,
        inertia_kgm2=vehicle.inertia_kgm2 / 10,
        added_mass=vehicle.added_mass / 10,
        linear_damping=vehicle.linear_damping / 10,
        quadratic_damping=vehicle.quadratic_damping / 10,
    )
    for one in (vehicle, small):
        states = swim(make(one), Plant([one], at_rest()[None]), point(1.0, 0.5), 12.0)
        assert states[-1, POSITION] == pytest.approx([1.0, 0.0, DEPTH_M], abs=0.05)
        assert tilts_deg(states).max() < 20.0


def test_another_vehicle_from_the_next_step_on() -> None:
    controller = make()
    assert step(controller, at_rest(), point(1.0)).thrust_N.shape == (8,)
    controller.set_vehicle(with_thrusters(VEHICLE, 0, 1, 2, 3))
    output = step(controller, at_rest(), point(1.0), t_s=PERIOD_S)
    assert output.thrust_N.shape == (4,)
    assert (with_thrusters(VEHICLE, 0, 1, 2, 3).thrust_matrix @ output.thrust_N)[0] > 5.0


# -- allocation ---------------------------------------------------------------------------------------------------


def test_attitude_comes_first_when_thrust_is_short() -> None:
    controller = make()
    moment = np.array([0.0, 2.0, 1.0])
    for force in (np.zeros(3), np.array([500.0, -300.0, 400.0])):
        thrust = controller._allocate(np.concatenate([force, moment]))
        assert (np.abs(thrust) <= 16.6 + 1e-9).all()
        got = VEHICLE.thrust_matrix @ thrust
        assert got[3:] == pytest.approx(moment, abs=1e-9)
        if force.any():
            assert got[:3] / np.linalg.norm(got[:3]) == pytest.approx(force / np.linalg.norm(force))
            assert np.abs(thrust).max() == pytest.approx(16.6)  # and all that is left goes there
    got = VEHICLE.thrust_matrix @ controller._allocate(np.array([0, 0, 0, 90.0, 0, 30.0]))
    assert got[3] / got[5] == pytest.approx(3.0)


# -- neighbours ---------------------------------------------------------------------------------------------------


def test_heads_for_those_it_must_see_and_else_as_the_reference_wants() -> None:
    beside = Known(b=(0.0, 3.0, DEPTH_M))
    states = swim(make(), Plant([VEHICLE], at_rest()[None]), point(), 8.0, beside, frozenset({"b"}))
    assert sight_angle_deg(states[-1], np.array([0.0, 3.0, DEPTH_M])) < 2.0
    states = swim(make(), Plant([VEHICLE], at_rest()[None]), point(), 8.0, beside)
    assert rotation_matrix(states[-1, ATTITUDE])[0, 0] > 0.999


def test_keeps_off_one_that_stands_where_it_is_sent() -> None:
    """Sent right onto a neighbour at 0.7 m/s: stopped well outside 0.75 m; without repulsion they collide."""
    there = Known(b=(3.0, 0.0, DEPTH_M))
    settings = PidSettings.model_validate({"give_way": {"turn_deg": 0.0}})

    def nearest_m(given: PidSettings, known: Known) -> float:
        states = swim(make(settings=given), Plant([VEHICLE], at_rest()[None]), point(3.0), 15.0, known)
        return float(np.linalg.norm(states[:, POSITION] - [3.0, 0.0, DEPTH_M], axis=1).min())

    assert nearest_m(settings, there) > 1.2
    assert (
        nearest_m(PidSettings.model_validate({"give_way": {"turn_deg": 0.0}, "repulsion": {"per_s": 0.0}}), there) < 0.1
    )
    there.margin_m = 0.5  # an old plan: that much farther off
    assert nearest_m(settings, there) > 1.6


def test_gives_way_to_starboard() -> None:
    ahead = Known(b=(2.5, 0.0, DEPTH_M))
    states = swim(make(), Plant([VEHICLE], at_rest()[None]), point(6.0), 25.0, ahead)
    beside = states[np.argmin(np.abs(states[:, 0] - 2.5)), 1]
    assert beside > 1.2  # NED: east of the way north is to starboard
    assert states[-1, POSITION] == pytest.approx([6.0, 0.0, DEPTH_M], abs=0.1)


def test_plan_is_about_what_happens() -> None:
    """2 s ahead to 0.15 m, while it speeds up towards a point that moves."""
    controller, goal = make(), point(1.0, speed_mps=0.2)
    plant = Plant([VEHICLE], at_rest()[None])
    plans = []
    for k in range(160):
        output = step(controller, plant.states[0].copy(), goal, t_s=k * PERIOD_S)
        plans.append(output)
        plant.step(output.thrust_N[None], PERIOD_S)
        for age in (20, 40):
            if k >= age:
                sent = plans[k - age]
                index = int(np.argmin(np.abs(sent.times_s - (k + 1) * PERIOD_S)))
                assert sent.times_s[index] == pytest.approx((k + 1) * PERIOD_S, abs=0.051)
                assert np.linalg.norm(sent.states[index, POSITION] - plant.states[0, POSITION]) < 0.15
    assert output.states.shape == (21, 13)
    assert output.times_s[-1] - output.times_s[0] == pytest.approx(2.0)


# -- what it cannot use -------------------------------------------------------------------------------------------


def test_a_reference_that_is_not_finite_is_refused() -> None:
    goal = point()
    goal.positions_m[:] = np.nan
    controller = make()
    output = step(controller, at_rest(), goal)
    assert not output.usable
    assert [issue.code for issue in output.issues] == [Code.REFERENCE_NOT_FINITE]
    assert np.isfinite(step(controller, at_rest(), point(), t_s=PERIOD_S).thrust_N).all()


def test_stops_and_keeps_its_heading_while_the_position_is_not_reliable() -> None:
    state = at_rest(yaw_rad=0.6)
    state[VELOCITY] = 0.3, 0.0, 0.0
    output = step(make(), state, point(20.0), Known(b=(0.0, 1.0, DEPTH_M)), must_see=frozenset({"b"}), reliable=False)
    wrench = VEHICLE.thrust_matrix @ output.thrust_N
    assert wrench[0] < -5.0  # brakes
    assert abs(wrench[5]) < 0.05  # does not turn


# -- the whole loop -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "rmse_m"), [("default", 0.01), ("mass_x2", 0.01), ("added_mass_x2", 0.01), ("current_05_waves", 0.2)]
)
def test_two_follow_a_circle_in_sight_of_each_other(condition: str, rmse_m: float) -> None:
    recording = simulate(RunSpec("circle", "fosso2023_two", condition, 0, "pid", duration_s=25.0))
    judged = figures(recording)
    assert not judged.failed
    assert judged.fallbacks == 0
    assert judged.rmse_m < rmse_m
    assert tilts_deg(recording.states.reshape(-1, 13)).max() < 40.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"control_delay_periods": 5, "controller_model": {"control_delay_periods": 1}},
        {"plant": {"thrusters": {"lag": {"replace": 0.4}}}},
        {"control_delay_periods": 0, "plant": {"thrusters": {"lag": {"replace": 0.0}}}},
    ],
    ids=["0.2 s later than believed", "lag of 0.4 s", "no lag, no delay"],
)
def test_wrong_timing_does_not_upset_it(wrong: dict[str, object]) -> None:
    """The margin that slow integrators and moderate bandwidths buy: 0.2 s of delay nobody knows of."""
    recording = simulate(RunSpec("circle", "fosso2023_two", changed(**wrong), 1, "pid", duration_s=20.0))
    judged = figures(recording)
    assert not judged.failed
    assert judged.rmse_m < 0.03
    assert tilts_deg(recording.states.reshape(-1, 13)).max() < 30.0
