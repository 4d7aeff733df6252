"""The linearised loop says when the real one oscillates, and how far that is from what is shipped."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from typer.testing import CliRunner

from shoal.cli import app
from shoal.control.margins import Belief, Margins, axis_loops, margins
from shoal.control.registry import load_controller_file
from shoal.fleet.file import load_fleet
from shoal.fleet.setup import nmpc_controller
from shoal.simulation.conditions import Condition, load_condition
from shoal.tasks.run import RunSpec, build_run
from shoal.vehicles.description import load_vehicle

VEHICLE = load_vehicle("bluerov2_heavy", "wu2018").with_thrust_limit(16.6)
TRANSLATIONS = ("surge", "sway", "heave")


VEHICLES = {
    "light": VEHICLE,
    "default": load_fleet("two").vehicles[0].vehicle(),  # the parameter set and the thrust that fleets have by default
}


@lru_cache(maxsize=8)
def margins_of(belief: Belief, name: str = "light") -> dict[str, Margins]:
    controller, agent = nmpc_controller("nmpc", VEHICLES[name], belief.period_s)
    return {m.axis: m for m in margins(controller, VEHICLES[name], agent.estimator, belief)}


@pytest.mark.parametrize("name", VEHICLES)
def test_margins_at_the_shipped_belief(name: str) -> None:
    """Lag 0.15 s, delay 0.05 s at 20 Hz: a change of weights, noise, grid or overdrive must not eat them up."""
    _, agent = nmpc_controller("nmpc", VEHICLES[name], 0.05)
    assert (agent.thruster_lead, agent.moment_lead) == (Belief().wanted_lead, Belief().wanted_moment_lead)
    assert np.mean(VEHICLES[name].input_lag_s) == pytest.approx(Belief().lag_s)
    for axis, found in margins_of(Belief(), name).items():
        later_s, sooner_s = (0.11, 0.2) if axis in TRANSLATIONS else (0.08, 0.1)
        assert found.later_s is None or found.later_s >= later_s, axis
        assert found.sooner_s is None or found.sooner_s >= sooner_s, axis
        assert found.more_gain is None or found.more_gain >= 1.8, axis
        assert found.less_gain is None or found.less_gain <= 0.25, axis


def test_to_believe_in_no_lag_is_the_most_fragile_belief() -> None:
    without, shipped = margins_of(Belief(lag_s=0.0)), margins_of(Belief())
    for axis in ("roll", "pitch", "yaw"):
        later, before = without[axis].later_s, shipped[axis].later_s
        assert later is not None and before is not None and later < before / 2


def test_overdrive_of_moments_costs_margin() -> None:
    without, overdriven = margins_of(Belief()), margins_of(Belief(wanted_moment_lead=2.0))
    for axis in ("roll", "pitch", "yaw"):
        later_s, less_s = without[axis].later_s, overdriven[axis].later_s
        assert later_s is not None and less_s is not None and less_s < later_s - 0.02, axis
    for axis in TRANSLATIONS:  # theirs is not touched by it
        assert without[axis].later_s == overdriven[axis].later_s


def test_gains_are_those_of_a_damped_vehicle() -> None:
    for axis, found in margins_of(Belief()).items():
        loop = found.loop
        assert loop.position_gain > 0 and loop.velocity_gain > 0, axis
        assert 0.5 < loop.wrench_gain + loop.previous_gain < 1.1, axis  # what disturbs is cancelled
        assert loop.spectral_radius(0.15, 0.05) < 1


def swing_dps(lag_s: float, extra_delay_s: float) -> float:
    """Largest body rate in the second half of 20 s on station; a plant that is the model, timing as configured."""
    data = load_condition("ideal").model_dump(mode="json", exclude_none=True)
    data |= {
        "name": "timing",
        "plant": {"perturbation": 0.0, "thrusters": {"lag": {"replace": lag_s}, "dead_band": {"replace": 0.0}}},
        "controller_model": {"thruster_lag": {"replace": 0.15}},
        "sensors": load_condition("default").sensors.model_dump(mode="json", exclude_none=True),
        "control_delay_periods": 1,
    }
    file = load_controller_file("nmpc").model_copy(update={"runtime": {"agent": {"timing": {"enabled": False}}}})
    condition = Condition.model_validate(data)
    run = build_run(RunSpec("circle", "1", condition, 1, file, duration_s=20.0, task="hold_station"))
    for queue in run.simulator.world.queues.values():
        queue._delay_s += extra_delay_s
    run.simulator.run()
    rates = run.recording().states[200:, :, 10:13]
    return float(np.degrees(np.abs(rates).max()))


def test_the_linear_loop_and_the_simulator_agree() -> None:
    """Beyond a spectral radius of one the rates swing by more than noise. One case of sixteen may err: axes couple."""
    controller, agent = nmpc_controller("nmpc", VEHICLE, 0.05)
    loops = axis_loops(controller, VEHICLE, agent.estimator, Belief())
    agree, unstable = [], []
    for lag_s in (0.03, 0.05, 0.08, 0.15):
        for extra_s in (0.0, 0.03, 0.08, 0.12):
            unstable.append(max(loop.spectral_radius(lag_s, 0.05 + extra_s) for loop in loops) > 1)
            agree.append(unstable[-1] == (swing_dps(lag_s, extra_s) > 6))
    assert sum(agree) >= 15
    assert 3 <= sum(unstable) <= 13


def test_command_line() -> None:
    given = ["controller", "margins", "bluerov2_heavy", "--set", "wu2018", "--thrust-limit", "16.6"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0
    rows = [line.split() for line in done.output.splitlines() if line.strip().startswith(("surge", "yaw"))]
    assert [row[0] for row in rows] == ["surge", "yaw"]
    later_s = margins_of(Belief())["yaw"].later_s
    assert f"{later_s:.3f}" in rows[1]
    refused = CliRunner().invoke(app, ["controller", "margins", "bluerov2_heavy", "-c", "pid"])
    assert refused.exit_code == 2 and "expected one of class nmpc" in refused.output + refused.stderr
