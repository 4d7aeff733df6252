"""Levels of autonomy in the vehicle's own runtime: switching without a jump, holding, and what ends a pilot's say."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from piloted import PERIOD_S, PLACE_M, ROV, Piloted
from shoal.autopilot.attitude import euler_angles
from shoal.autopilot.autopilot import AutopilotSettings
from shoal.autopilot.levels import Levels
from shoal.autopilot.random_pilot import RandomPilot
from shoal.errors import ShoalError
from shoal.messages.health import Code, Mode
from shoal.messages.pilot import AXES, PRESETS, Level, PilotInput, pilot_from_json
from shoal.messages.state import ATTITUDE

HERE = np.array([*PLACE_M, 0.0, 0.0, 0.0])


def alone(preset: str, **given: object) -> AutopilotSettings:
    return AutopilotSettings.model_validate({"preset": preset, "handover": False, **given})


def test_a_thousand_changes_of_level_and_no_jump() -> None:
    """With the fleet's NMPC among the presets: thrust as sent, overdrive and sensor noise included."""
    pilot, dive = RandomPilot(0, PLACE_M, 0.86), Piloted(AutopilotSettings(preset="manual"), noise=1.0)
    levels = [dive.controller.levels]
    for _ in range(1600):
        dive.run(PERIOD_S, pilot, references=True)
        levels.append(dive.controller.levels)
    assert sum(new != old for old, new in pairwise(levels)) >= 1000, "what asks for the levels that are is no change"
    # Not in the first half second, in which the runtime probes how late thrust acts.
    sent = np.array([command.thrust_N for command in dive.commands])[10:]
    limit = np.minimum(ROV.input_max_N, -ROV.input_min_N)
    assert (np.abs(np.diff(sent, axis=0)) / limit).max() <= 0.20
    assert all(command.health.mode is Mode.CONTROLLER for command in dive.commands)


def test_a_change_a_second_and_no_jump_at_it_nor_after_it() -> None:
    """As people switch. Far from a change thrust follows the sensors' noise as much as the laws do; that is not judged.

    Thrust is limited in its rate for half a second after a change; what gathers behind it must not come out at once.
    """
    pilot, dive = RandomPilot(1, PLACE_M, 0.05), Piloted(AutopilotSettings(preset="manual"), noise=1.0, seed=1)
    levels = [dive.controller.levels]
    for _ in range(1200):
        dive.run(PERIOD_S, pilot, references=True)
        levels.append(dive.controller.levels)
    sent = np.array([command.thrust_N for command in dive.commands])
    jumps = (np.abs(np.diff(sent, axis=0)) / np.minimum(ROV.input_max_N, -ROV.input_min_N)).max(axis=1)
    changes = np.flatnonzero([new != old for old, new in pairwise(levels[1:])])  # between steps k and k + 1
    assert len(changes) > 50
    since = np.arange(len(jumps)) - np.repeat([-99, *changes], np.diff([0, *changes, len(jumps)]))
    settled = np.arange(len(jumps)) >= 10  # the runtime probes at first
    assert jumps[settled & (since < 10)].max() <= 0.20
    assert jumps[settled & (since >= 10) & (since < 12)].max() <= 0.30


@pytest.mark.parametrize("preset", [*PRESETS, "rate", "hold"])
def test_stop_and_loss_of_the_pilot_at_every_level(preset: str) -> None:
    """`rate` and `hold`: all six axes at that level, which is no preset."""
    levels = {} if preset in PRESETS else dict.fromkeys(AXES, Level(preset))
    start = "guided" if levels else preset
    dive = Piloted(AutopilotSettings(preset=start, handover=preset == "fleet"))
    sticks = np.array([0.2, 0.1, 0.1, 0.0, 0.0, 0.2])
    ahead = HERE + [0.5, 0.0, 0.0, 0.0, 0.0, 0.5]
    dive.run(2.0, lambda t: PilotInput(t, sticks, ahead, levels=levels), references=True)
    dive.run(4.0, references=True)  # silence
    codes = [{issue.code for issue in command.health.issues} for command in dive.commands]
    first = next((k for k, found in enumerate(codes) if Code.PILOT_SILENT in found), None)
    if preset != "fleet":
        assert first is not None and first * PERIOD_S <= 2.0 + 0.5 + PERIOD_S
    axes = dive.controller.levels.axes
    assert axes == (tuple(levels.values()) if levels else Levels.of(preset).axes)
    end, rates = dive.states[-1], np.abs(dive.states[-1][7:13])
    if preset == "manual":
        assert np.abs(dive.thrust_N).max() < 0.5  # neutral
    if Level.DIRECT not in axes[:3]:
        assert rates[:3].max() < 0.05
    if Level.DIRECT not in axes[3:]:
        assert rates[3:].max() < 0.1
    assert np.degrees(np.abs(euler_angles(end[ATTITUDE])[:2]).max()) < 5
    dive.runtime.on_stop("test")
    dive.run(0.5)
    assert np.abs(dive.thrust_N).max() == 0.0
    dive.runtime.on_release(dive.runtime.stop.state.counter, "test")
    before = len(dive.commands)
    dive.run(1.0, lambda t: PilotInput(t, setpoints=ahead), references=True)
    sent = np.array([command.thrust_N for command in dive.commands[before - 1 :]])
    assert np.abs(np.diff(sent, axis=0)).max() <= 0.2 * 40.08


@pytest.mark.parametrize("metres", [1.0, -1.0])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_depth_steps_both_ways(metres: float, noise: float) -> None:
    dive = Piloted(alone("guided"), noise=noise)
    dive.run(4.0, lambda t: PilotInput(t, setpoints=HERE))
    before = len(dive.states)
    deeper = HERE + [0, 0, metres, 0, 0, 0]
    dive.run(6.0, lambda t: PilotInput(t, setpoints=deeper))
    way = (np.array(dive.states)[before:, 2] - PLACE_M[2]) / metres
    outside = np.flatnonzero(np.abs(way - 1) > 0.05)
    assert (outside[-1] + 1) * PERIOD_S <= 2.4 + 1e-9 and way.max() <= 1.01


def test_heading_and_depth_are_held_while_the_pilot_drives_ahead() -> None:
    dive = Piloted(alone("depth_hold"), noise=1.0)
    dive.run(10.0, lambda t: PilotInput(t, np.array([0.3, 0, 0, 0, 0, 0])))
    states = np.array(dive.states)
    assert states[-1, 0] > 3.0  # north, where the bow points
    assert np.abs(states[:, 2] - PLACE_M[2]).max() < 0.05
    assert np.degrees(abs(euler_angles(states[-1, 3:7])[2])) < 2


def test_rate_moves_what_is_held_and_stops_without_overshoot() -> None:
    dive = Piloted(alone("position_hold"))
    dive.run(2.0, lambda t: PilotInput(t, np.array([0, 0, 0, 0, 0, 0.5])))
    assert dive.state[12] == pytest.approx(np.radians(22.5), rel=0.05)
    dive.run(4.0, lambda t: PilotInput(t))
    yaws = np.degrees([euler_angles(x[ATTITUDE])[2] for x in dive.states])
    assert yaws.max() <= yaws[-1] + 0.5 and yaws[-1] > 40
    assert np.abs(np.array(dive.states)[:, :3] - PLACE_M).max() < 0.03


def test_direct_is_the_pilots_effort_and_nothing_else() -> None:
    dive = Piloted(alone("manual"))
    dive.run(4.0, lambda t: PilotInput(t, np.array([0.25, 0, 0, 0, 0, 0])))
    wrench = ROV.input_matrix @ dive.thrust_N
    assert wrench == pytest.approx([0.25 * 127.32, 0, 0, 0, 0, 0], abs=0.1)


def test_the_pd_law_holds_too() -> None:
    dive = Piloted(alone("guided", law="pd"))
    turned = HERE + [0, 0, 0, 0, np.radians(20), np.radians(60)]
    dive.run(8.0, lambda t: PilotInput(t, setpoints=turned))
    assert np.degrees(euler_angles(dive.state[ATTITUDE])) == pytest.approx([0, 20, 60], abs=1.0)


def test_levels_change_by_preset_and_by_axis() -> None:
    levels = Levels.of("depth_hold").changed("", {"yaw": Level.HOLD})
    assert levels.axes[5] is Level.HOLD and levels.axes[2] is Level.RATE and levels.preset == ""
    assert levels.changed("manual", {}) == Levels.of("manual")
    assert json.loads(levels.to_json())["yaw"] == "hold" and "yaw hold" in str(levels)


def test_a_message_of_a_front_end() -> None:
    text = '{"sticks": {"surge": 0.3}, "setpoints": {"yaw_deg": 90}, "rates": {"yaw_dps": 18}'
    text += ', "levels": {"yaw": "guided"}}'
    found = pilot_from_json(text, 2.0)
    assert found.sticks[0] == 0.3 and found.setpoints[5] == pytest.approx(np.pi / 2) and np.isnan(found.setpoints[0])
    assert found.rates[5] == pytest.approx(np.pi / 10) and found.levels == {"yaw": Level.GUIDED}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[1]", "object"), ("{", "JSON"), ('{"stick": {}}', "stick"),
        ('{"sticks": {"surge": 1.5}}', "surge"),
        ('{"sticks": {"surge": true}}', "surge"), ('{"sticks": {"surge": NaN}}', "surge"), ('{"sticks": 3}', "sticks"),
        ('{"setpoints": {"yaw": 3}}', "yaw_deg"), ('{"preset": "auto"}', "manual"),
        ('{"levels": {"yaw": "on"}}', "hold"), ('{"levels": []}', "levels"),
        ('{"preset": []}', "preset"), ('{"levels": {"yaw": {}}}', "yaw"),
    ],
)  # fmt: skip
def test_a_message_that_makes_no_sense_is_named(text: str, word: str) -> None:
    with pytest.raises(ShoalError, match=word):
        pilot_from_json(text, 0.0)
