"""Pads, keys and dives as a pilot's messages; which nodes carry them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.autopilot.dive import load_dive, pilot_message
from shoal.errors import ShoalError
from shoal.messages.pilot import Level, pilot_from_json
from shoal_autopilot.nodes import pilot_nodes
from shoal_autopilot.sticks import FULL, PadPilot, sticks_of
from shoal_ros.node_list import vehicle_node
from shoal_teleop.keys import Keys
from shoal_teleop.layout import load_layout

REST = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
HELD = 4


def pressed(*buttons: int) -> list[int]:
    return [int(b in buttons) for b in range(11)]


def test_a_pad_steers_while_the_dead_man_is_held() -> None:
    pad = PadPilot(load_layout("xbox"))
    pad.message(REST, pressed())  # the triggers are seen at rest
    ahead_right_down_port = [-1.0, 1.0, -1.0, 1.0, 0.0, 1.0]
    assert pad.message(ahead_right_down_port, pressed()) == {"sticks": {}}
    sticks = pad.message(ahead_right_down_port, pressed(HELD))["sticks"]
    assert sticks == pytest.approx({"surge": 0.7071, "sway": 0.7071, "heave": 1.0, "yaw": -1.0}, abs=1e-3)


def test_presets_by_button_once_and_only_holding_without_the_dead_man() -> None:
    pad = PadPilot(load_layout("xbox"))
    assert "preset" not in pad.message(REST, pressed(0))
    assert pad.message(REST, pressed(1))["preset"] == "position_hold"
    assert pad.message(REST, pressed(HELD, 2))["preset"] == "depth_hold"
    assert "preset" not in pad.message(REST, pressed(HELD, 2)), "still down"


def test_keys_are_shares_of_full_deflection() -> None:
    keys = Keys(FULL, {"4": "position_hold"})
    assert keys.press(0.0, "wq4") == ["position_hold"]
    assert sticks_of(keys.velocity(0.1)) == {"surge": 0.5, "sway": 0.0, "heave": 0.0, "yaw": -0.5}
    assert sticks_of(keys.velocity(5.0)) == {}


def test_a_dive_is_sent_as_setpoints_with_rates_and_as_sticks() -> None:
    dive = load_dive("pilot")
    found = pilot_from_json(json.dumps(pilot_message(dive, 7.3)), 0.0)
    wanted = dive.wanted(7.3)
    assert found.setpoints[3:] == pytest.approx(wanted.angles_rad) and found.rates[3:] == pytest.approx(
        wanted.rates_radps
    )
    assert found.sticks[:3] == pytest.approx(dive.effort(7.3)) and np.isnan(found.setpoints[:3]).all()
    assert found.levels["surge"] is Level.DIRECT and found.levels["yaw"] is Level.GUIDED


def test_which_nodes_carry_a_pilot() -> None:
    (web,) = pilot_nodes("web", "two", "rov2")
    assert (web.executable, web.namespace, web.parameters["address"]) == ("pilot_web", "/rov2", "127.0.0.1")
    assert [node.executable for node in pilot_nodes("pad")] == ["pilot_pad", "joystick"]
    for given, word in (({"source": "ouija"}, "web, pad"), ({"source": "web", "vehicle": "nemo"}, "nemo"),
                        ({"source": "csv", "course": "nothing"}, "nothing")):  # fmt: skip
        with pytest.raises(ShoalError, match=word):
            pilot_nodes(**given)


def test_the_autopilot_has_a_node_of_its_own() -> None:
    piloted, other = vehicle_node("one", "rov1", controller="autopilot"), vehicle_node("one", "rov1")
    assert (piloted.package, piloted.full_name) == ("shoal_autopilot", "/rov1/autopilot")
    assert (other.package, other.full_name) == ("shoal_mpc", "/rov1/mpc")
