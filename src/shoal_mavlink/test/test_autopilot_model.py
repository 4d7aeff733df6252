"""The stand-in behaves as ArduSub was measured to: otherwise tests against it prove nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pymavlink")

from shoal.ardusub.layout import layout_of
from shoal.messages.state import State
from shoal.vehicles.curves import load_table
from shoal.vehicles.description import load_vehicle
from shoal_mavlink import dialect, stand_in
from shoal_mavlink.autopilot_model import BOOT_S, GOOD_PARAMETERS, AutopilotModel
from shoal_mavlink.dialect import Codec
from shoal_mavlink.thruster_plant import ThrusterPlant

HEAVY = load_vehicle("bluerov2_heavy", "von_benzon2022")
NEUTRAL, PUSH = [1500] * 6, [1700] * 6
CHECK = [1633, 1100, 1633, 1633, 1366, 1100, 1633, 1366]


class Pilot:
    """A ground station on a wire without delay; time is what it says."""

    def __init__(self, system: int = 255, **parameters: float) -> None:
        plant = ThrusterPlant(HEAVY, State.at_rest((0.0, 0.0, 5.0)).array)
        self.model = AutopilotModel(plant, {**GOOD_PARAMETERS, **parameters})
        self.codec, self.heard = Codec(system), Codec(0)
        self.received: list[Any] = []
        self.wait(BOOT_S + 0.1)

    def send(self, message: Any) -> list[Any]:
        """Through bytes, as on a wire."""
        (parsed,) = self.model.codec.parse(self.codec.pack(message))
        return self._take(self.model.receive(parsed))

    def wait(self, seconds: float, channels: list[int] | None = None, heartbeat: bool = True) -> list[Any]:
        """Overrides at 50 Hz and a heartbeat each second, if asked."""
        out: list[Any] = []
        for k in range(round(seconds / 0.02)):
            if heartbeat and k % 50 == 0:
                self.send(dialect.heartbeat(self.codec))
            if channels is not None:
                self.send(dialect.override(self.codec, 1, channels))
            out += self._take(self.model.advance(self.model.now_s + 0.02))
        return out

    def arm(self) -> None:
        self.send(dialect.command(self.codec, 1, dialect.ARM, 1.0))

    def _take(self, messages: list[Any]) -> list[Any]:
        return [m for message in messages for m in self.heard.parse(self.model.codec.pack(message))]


def until_neutral_s(pilot: Pilot, heartbeat: bool) -> float:
    start_s = pilot.model.now_s
    while pilot.model.outputs_us != [1500] * 8:
        pilot.wait(0.02, heartbeat=heartbeat)
        assert pilot.model.now_s - start_s < 5.0
    return pilot.model.now_s - start_s


def test_outputs_are_the_measured_ones_half_a_second_after_arming() -> None:
    pilot = Pilot()
    pilot.wait(0.2, PUSH)
    assert pilot.model.outputs_us == [1500] * 8, "disarmed"
    pilot.arm()
    pilot.wait(0.46, PUSH)
    assert pilot.model.outputs_us == [1500] * 8
    pilot.wait(0.1, PUSH)
    assert pilot.model.outputs_us == CHECK


def test_latency_of_an_override() -> None:
    pilot, seen = Pilot(), []
    pilot.arm()
    pilot.wait(1.0, NEUTRAL)
    for k in range(12):
        pilot.wait(0.1, NEUTRAL)
        pilot.model.advance(pilot.model.now_s + 0.005 * (k % 4))  # at any phase of the sampling
        start_s = pilot.model.now_s
        pilot.send(dialect.override(pilot.codec, 1, PUSH))
        while pilot.model.outputs_us == [1500] * 8:
            pilot.model.advance(pilot.model.now_s + 0.005)
        seen.append(pilot.model.now_s - start_s)
        pilot.wait(0.02 - 0.005 * (k % 4) + 0.02, NEUTRAL)
    assert min(seen) >= 0.005 and max(seen) <= 0.0251 and np.ptp(seen) >= 0.01


@pytest.mark.parametrize(("heartbeat", "least_s", "most_s"), [(True, 2.95, 3.06), (False, 2.55, 2.66)])
def test_failsafes_take_the_measured_time(heartbeat: bool, least_s: float, most_s: float) -> None:
    """Pilot input 3.0 s; ground station 2.6 s when heartbeat and overrides both stop; the last stays on till then."""
    pilot = Pilot()
    pilot.arm()
    pilot.wait(1.0, PUSH)
    assert least_s <= until_neutral_s(pilot, heartbeat) <= most_s
    assert not pilot.model.state.armed


def test_only_its_own_ground_station_commands() -> None:
    stranger = Pilot(system=200)
    stranger.arm()
    stranger.wait(1.0, PUSH)
    assert not stranger.model.state.armed and stranger.model.state.channels_us == NEUTRAL


def test_other_modes_and_disarming_stop_the_outputs() -> None:
    pilot = Pilot()
    pilot.arm()
    pilot.wait(1.0, PUSH)
    (answer,) = pilot.send(dialect.command(pilot.codec, 1, dialect.SET_MODE, 1.0, 2.0))
    assert (answer.get_type(), answer.result) == ("COMMAND_ACK", 0)
    pilot.wait(0.1, PUSH)
    assert pilot.model.outputs_us == [1500] * 8 and pilot.model.state.armed
    pilot.send(dialect.command(pilot.codec, 1, dialect.SET_MODE, 1.0, float(dialect.MANUAL)))
    pilot.wait(0.1, PUSH)
    assert pilot.model.outputs_us == CHECK
    pilot.send(dialect.command(pilot.codec, 1, dialect.ARM, 0.0))
    assert pilot.model.outputs_us == [1500] * 8


def test_messages_come_at_the_rates_asked_for_and_parameters_by_name() -> None:
    pilot = Pilot()
    rates = {"ATTITUDE_QUATERNION": 100.0, "LOCAL_POSITION_NED": 20.0, "SERVO_OUTPUT_RAW": 10.0}
    for name, rate_hz in rates.items():
        interval_us = 1e6 / rate_hz
        pilot.send(dialect.command(pilot.codec, 1, dialect.SET_INTERVAL, float(dialect.IDS[name]), interval_us))
    kinds = [m.get_type() for m in pilot.wait(2.0)]
    counted = {name: kinds.count(name) / 2.0 for name in [*rates, "HEARTBEAT", "SYS_STATUS"]}
    assert counted == pytest.approx({**rates, "HEARTBEAT": 1.0, "SYS_STATUS": 2.0}, abs=0.6)
    (value,) = pilot.send(pilot.codec.messages.param_request_read_encode(1, 1, b"FRAME_CONFIG", -1))
    assert (value.param_id, value.param_value) == ("FRAME_CONFIG", 2.0)
    assert pilot.send(pilot.codec.messages.param_request_read_encode(1, 1, b"NO_SUCH_NAME", -1)) == []


def test_restart_forgets_arming_and_is_silent_while_it_starts() -> None:
    pilot = Pilot()
    pilot.arm()
    pilot.wait(1.0, PUSH)
    pilot.send(dialect.command(pilot.codec, 1, dialect.REBOOT, 1.0))
    assert pilot.model.outputs_us == [1500] * 8
    assert pilot.wait(BOOT_S - 0.1, PUSH) == []
    assert any(m.get_type() == "HEARTBEAT" and not m.base_mode & dialect.ARMED for m in pilot.wait(1.2))


def test_the_plant_gets_the_t200s_force_at_the_batterys_voltage() -> None:
    layout = layout_of(HEAVY)
    for voltage_V in (12.0, 16.0):
        plant = ThrusterPlant(HEAVY, State.at_rest((0.0, 0.0, 5.0)).array, voltage_V)
        pulses = [1500, 1600, 1900, 1100, 1500, 1500, 1400, 1500]
        expected = load_table("t200").at(voltage_V).force_N(np.array(pulses, dtype=float))
        assert np.allclose(layout.to_autopilot(plant.forces_N(pulses)), expected)


def test_ahead_is_north_and_rest_weighs() -> None:
    plant = ThrusterPlant(HEAVY, State.at_rest((0.0, 0.0, 5.0)).array)
    assert np.allclose(plant.specific_force_mps2, [0, 0, -9.80665])
    ahead = [1300, 1300, 1700, 1700, 1500, 1500, 1500, 1500]
    plant.step(ahead, 0.005)
    for _ in range(100):
        plant.step(ahead, 0.02)
    assert plant.state[0] > 0.1 and abs(plant.state[1]) < 0.05


def test_vehicles_started_apart_share_the_water() -> None:
    """The current of a wave that turns every 2 s, 2 s later: the other way up."""
    now, later = (
        stand_in.make_model("two", "rov1", "current_05_waves", path="circle", water_s=s).plant.plant for s in (0.5, 2.5)
    )
    here = now.states[0, :3]
    assert now.current(0.0, here)[2] == pytest.approx(-later.current(0.0, here)[2]) and now.current(0.0, here)[2] != 0


def test_stand_in_refuses_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for words, expected in (
        (["--vehicle", "nobody"], "expected one of: rov1, rov2"),
        (["--vehicle", "rov1", "--link", "carrier-pigeon"], "expected udpin:, udpout:, tcp: or tcpin:"),
    ):
        with pytest.raises(SystemExit) as ended:
            stand_in.main(words)
        assert ended.value.code == 2 and expected in " ".join(capsys.readouterr().err.split())


def test_overrides_that_are_late_and_a_vehicle_that_is_moored() -> None:
    pilot = Pilot()
    start = pilot.model.plant.state.copy()
    pilot.model.late_s, pilot.model.moored = 0.05, True
    pilot.wait(1.0)
    assert np.array_equal(pilot.model.plant.state, start), "buoyancy alone would have moved it"
    pilot.arm()
    pilot.wait(1.0, NEUTRAL)
    assert not np.array_equal(pilot.model.plant.state, start)
    sent_s = pilot.model.now_s
    pilot.send(dialect.override(pilot.codec, 1, PUSH))
    while pilot.model.outputs_us == [1500] * 8:
        pilot.model.advance(pilot.model.now_s + 0.005)
    assert 0.055 <= pilot.model.now_s - sent_s <= 0.0751
