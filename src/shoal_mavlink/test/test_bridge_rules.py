"""The bridge's rules against the stand-in, in simulated time: what is passed on, when it is neutral, what it says."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pymavlink")

from shoal.ardusub.axis_map import AxisMap
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, VELOCITY, State
from shoal.vehicles.description import load_vehicle
from shoal_mavlink import dialect
from shoal_mavlink.autopilot_model import GOOD_PARAMETERS, AutopilotModel
from shoal_mavlink.bridge import Bridge, BridgeSettings, rotation_angles
from shoal_mavlink.dialect import Codec
from shoal_mavlink.estimate import BootClock
from shoal_mavlink.thruster_plant import ThrusterPlant

HEAVY = load_vehicle("bluerov2_heavy", "von_benzon2022")
AHEAD_N = HEAVY.input_matrix.T @ np.array([8.0, 0, 0, 0, 0, 0])
REST = [1500] * 8


class Pair:
    """A bridge and an autopilot on a wire that may be cut."""

    def __init__(
        self, source: str = "vehicle", voltage_V: float = 16.0, route: str = "axes", **parameters: float
    ) -> None:
        self.route = route
        plant = ThrusterPlant(HEAVY, State.at_rest((1.0, 2.0, 5.0), 0.5).array, voltage_V)
        self.model = AutopilotModel(plant, {**GOOD_PARAMETERS, **parameters})
        self.new_bridge(source)
        self.cut = False
        self.joystick = False  # of a ground station beside us, its sticks centred
        self.received: list[Odometry] = []
        self.said: list[str] = []

    def new_bridge(self, source: str = "vehicle") -> None:
        settings = BridgeSettings(position_source=source, route=self.route, latitude_deg=63.44, longitude_deg=10.4)
        self.bridge = Bridge(AxisMap(HEAVY), settings)

    @property
    def t_s(self) -> float:
        return self.model.now_s

    def run(self, seconds: float, force_N: np.ndarray | None = None, external: Odometry | None = None) -> None:
        for _ in range(round(seconds / 0.02)):
            if force_N is not None:
                self.bridge.thrust(force_N, self.t_s)
            if external is not None:
                self.bridge.external(external, self.t_s)
            out = self.bridge.send(self.t_s)
            if not self.cut:
                self._to_model(b"".join(out))
            if self.joystick and round(self.t_s / 0.02) % 2:
                other = Codec(255)
                self._to_model(other.pack(dialect.override(other, 1, [1500] * 6)))
            for message in self.model.advance(self.t_s + 0.02):
                self._to_bridge(message)
            self.received += self.bridge.odometry
            self.bridge.odometry.clear()
            self.said += self.bridge.events
            self.bridge.events.clear()

    def _to_model(self, data: bytes) -> None:
        for message in self.model.codec.parse(data):
            for answer in self.model.receive(message):
                self._to_bridge(answer)

    def _to_bridge(self, message: object) -> None:
        packed = self.model.codec.pack(message)
        if not self.cut:
            self.bridge.take(packed, self.t_s)

    def swim(self) -> None:
        """Armed, with thrust."""
        self.run(6.0)
        assert self.bridge.arm(self.t_s) == []
        self.run(2.0, AHEAD_N)
        assert self.model.outputs_us != REST

    def pilot(self, number: int, *values: float) -> None:
        """Another ground station with the same system id, as QGroundControl is."""
        codec = Codec(255)
        self._to_model(codec.pack(dialect.command(codec, 1, number, *values)))

    def until_rest_s(self, force_N: np.ndarray | None = None) -> float:
        start_s = self.t_s
        while self.model.outputs_us != REST:
            self.run(0.02, force_N)
            assert self.t_s - start_s < 4.0
        return self.t_s - start_s

    def heard_of(self, words: str) -> bool:
        return any(words in line for line in self.said)


def test_it_swims_ahead_and_odometry_is_the_truth() -> None:
    pair = Pair()
    pair.swim()
    before = pair.model.plant.state.copy()
    pair.run(1.0, AHEAD_N)
    last = pair.received[-1]
    truth = pair.model.plant.state
    assert np.linalg.norm(truth[:3] - before[:3]) > 0.1
    assert np.allclose(last.position_m, truth[:3], atol=0.15)
    assert np.allclose(last.velocity_mps, truth[VELOCITY], atol=0.1)
    assert abs(float(last.attitude @ truth[ATTITUDE])) > 0.99
    assert abs(last.stamp_s - pair.t_s) < 0.1
    times_s = np.array([o.stamp_s for o in pair.received[-15:]])
    assert np.diff(times_s) == pytest.approx(0.05, abs=0.006)


def test_thrusters_are_called_live_when_they_are_and_not_before() -> None:
    """Whoever believes that thrust acts while outputs rest asks for ever more of it."""
    pair = Pair()
    pair.run(6.0)
    assert pair.bridge.arm(pair.t_s) == [] and not pair.bridge.live(pair.t_s)
    while not pair.bridge.live(pair.t_s):
        pair.run(0.02, AHEAD_N)
        assert pair.t_s < 9.0
    assert pair.model.outputs_us != REST


def test_it_never_arms_by_itself_and_passes_nothing_on_before() -> None:
    pair = Pair()
    pair.run(6.0, AHEAD_N)
    assert not pair.model.state.armed
    pair.pilot(dialect.ARM, 1.0)  # the pilot arms: still not ours
    pair.run(2.0, AHEAD_N)
    assert pair.model.state.armed and pair.model.outputs_us == REST


def test_a_bridge_that_starts_anew_beside_an_armed_vehicle_moves_nothing() -> None:
    pair = Pair()
    pair.swim()
    pair.new_bridge()
    pair.model.state.channels_us = [1500] * 6
    pair.run(2.5, AHEAD_N)
    assert pair.model.state.armed and pair.model.outputs_us == REST
    pair.run(3.0, AHEAD_N)
    assert not pair.model.state.armed, "the pilot's failsafe"


def test_neutral_when_commands_stop_and_on_stop_and_on_exit() -> None:
    pair = Pair()
    pair.swim()
    assert pair.bridge.live(pair.t_s)
    assert pair.until_rest_s() <= 0.2
    pair.run(4.0)
    assert pair.model.state.armed, "neutral overrides keep the failsafe content"
    pair.run(0.2, AHEAD_N)
    assert pair.model.outputs_us != REST
    pair.bridge.stopped = True
    assert not pair.bridge.live(pair.t_s), "the controller is told"
    assert pair.until_rest_s(AHEAD_N) <= 0.06
    pair.run(1.0, AHEAD_N)
    assert pair.model.outputs_us == REST
    assert pair.bridge.arm(pair.t_s) == ["STOP holds"]
    pair.bridge.stopped = False
    pair.run(0.2, AHEAD_N)
    assert pair.model.outputs_us != REST
    pair._to_model(b"".join(pair.bridge.neutral()))
    pair.model.advance(pair.t_s + 0.05)
    assert pair.model.outputs_us == REST


def test_who_drives_one_thruster_does_not_revive_what_somebody_asked_of_the_others() -> None:
    """A controller dies; then one thruster is tried by hand, as on the bench."""
    pair, alone = Pair(), Pair()
    pair.swim()
    pair.run(1.0)  # nobody commands
    assert pair.model.outputs_us == REST
    alone.run(6.0)
    assert alone.bridge.arm(alone.t_s) == []
    one = np.full(8, np.nan)
    one[2] = 5.0
    for each in (pair, alone):
        each.run(2.0, one)
    assert pair.model.outputs_us == alone.model.outputs_us != REST


def test_a_force_that_is_no_number_is_not_passed_on_and_counts_as_none() -> None:
    pair = Pair()
    pair.swim()
    assert pair.until_rest_s(np.array([np.nan, np.inf, -np.inf, *([np.nan] * 5)])) <= 0.2
    assert pair.bridge.status(pair.t_s)[1] == "armed, no thrust commands: neutral"


@pytest.mark.parametrize("what", ["disarm", "mode", "link", "reboot"])
def test_what_ends_it_has_a_sentence_and_needs_arming_again(what: str) -> None:
    pair = Pair()
    pair.swim()
    if what == "disarm":
        pair.pilot(dialect.ARM, 0.0)
    elif what == "mode":
        pair.pilot(dialect.SET_MODE, 1.0, 2.0)
    elif what == "reboot":
        pair.pilot(dialect.REBOOT, 1.0)
    else:
        pair.cut = True
        pair.run(3.2, AHEAD_N)
        pair.cut = False
    pair.run(6.0, AHEAD_N)
    words = {
        "disarm": "has disarmed",
        "mode": "ALT_HOLD, expected MANUAL",
        "link": "link lost",
        "reboot": "started anew",
    }
    assert pair.heard_of(words[what]) and pair.heard_of("until it is armed again"), pair.said
    assert pair.model.outputs_us == REST and not pair.bridge.engaged and not pair.bridge.live(pair.t_s)
    assert pair.bridge.arm(pair.t_s) == []
    pair.run(2.0, AHEAD_N)
    assert pair.model.outputs_us != REST


@pytest.mark.parametrize(
    ("name", "value"), [("FRAME_CONFIG", 1.0), ("RC3_TRIM", 1500.0), ("FS_PILOT_INPUT", 0.0), ("SERVO5_FUNCTION", 55.0)]
)
def test_a_wrong_parameter_is_named_and_refused_before_arming(name: str, value: float) -> None:
    pair = Pair(**{name: value})
    pair.run(6.0)
    assert any(line.startswith("it will not be armed:") and name in line for line in pair.said)
    (refused,) = pair.bridge.arm(pair.t_s)
    assert name in refused and f"{value:g}" in refused
    pair.run(2.0, AHEAD_N)
    assert not pair.model.state.armed
    level, sentence, _ = pair.bridge.status(pair.t_s)
    assert level == 2 and name in sentence


def test_parameters_that_do_not_answer_are_named() -> None:
    pair = Pair()
    del pair.model.parameters["FS_GCS_ENABLE"]
    pair.run(6.0)
    assert any("FS_GCS_ENABLE: the autopilot did not answer" in line for line in pair.bridge.arm(pair.t_s))


def test_a_joystick_beside_the_bridge_is_noticed() -> None:
    """It halves the thrust, and looks like a weak vehicle."""
    pair = Pair()
    pair.swim()
    pair.run(3.0, AHEAD_N)
    assert not pair.heard_of("somebody else steers")
    pair.joystick = True
    pair.run(3.0, AHEAD_N)
    assert pair.heard_of("somebody else steers too") and pair.heard_of("joystick of QGroundControl")
    level, sentence, _ = pair.bridge.status(pair.t_s)
    assert level == 1 and "somebody else" in sentence
    pair.joystick = False
    pair.run(6.0, AHEAD_N)
    assert pair.bridge.status(pair.t_s)[0] == 0


def test_the_batterys_voltage_reaches_the_curve() -> None:
    weak, strong = Pair(voltage_V=13.0), Pair(voltage_V=17.0)
    for pair in (weak, strong):
        pair.swim()
    assert weak.bridge.axis_map.voltage_V == pytest.approx(13.0, abs=0.1)
    assert weak.bridge.channels(weak.t_s)[4] > strong.bridge.channels(strong.t_s)[4]  # type: ignore[index]


@pytest.mark.parametrize("source", ["pose", "odometry"])
def test_a_position_from_outside_reaches_the_estimator_and_comes_back(source: str) -> None:
    velocity = {"pose": (0, 0, 6), "odometry": (6, 6, 1)}[source]
    names = ("EK3_SRC1_VELXY", "EK3_SRC1_VELZ", "EK3_SRC1_YAW")
    pair = Pair(source, EK3_SRC1_POSXY=6, **dict(zip(names, map(float, velocity), strict=True)))
    pair.run(6.0)
    assert not pair.received
    assert pair.bridge.arm(pair.t_s) == ["the autopilot sends no position and attitude"]
    outside = State.at_rest((10.0, -20.0, 5.0), 0.5).array
    pair.run(3.0, external=Odometry(pair.t_s, outside))
    assert np.allclose(pair.received[-1].position_m[:2], [10.0, -20.0], atol=0.2)
    assert pair.model.state.origin_deg == pytest.approx((63.44, 10.4)), "the compass' declination depends on it"
    assert pair.bridge.arm(pair.t_s) == []


def test_angles_are_those_of_the_quaternion() -> None:
    from shoal.frames import from_euler

    assert rotation_angles(from_euler(0.3, -0.4, 2.0)) == pytest.approx((0.3, -0.4, 2.0))


def test_stamps_keep_the_autopilots_spacing_whatever_the_delay() -> None:
    clock, rng = BootClock(), np.random.default_rng(0)
    for k in range(200):
        boot_s = 0.05 * k
        assert not clock.update(boot_s, 100.0 + boot_s + rng.uniform(0.0, 0.03))
    assert clock.time_s(10.0) == pytest.approx(110.0, abs=0.002)
    assert clock.update(0.5, 120.0), "a clock that goes back has started anew"
    assert clock.time_s(0.5) == pytest.approx(120.0)


def test_a_leak_is_told_as_long_as_the_autopilot_repeats_it() -> None:
    pair = Pair()
    pair.run(1.0)
    assert pair.bridge.status(pair.t_s)[2]["leak"] is False
    pair._to_bridge(pair.model.codec.messages.statustext_encode(2, b"Leak Detected"))
    assert pair.bridge.status(pair.t_s)[2]["leak"] is True
    assert any("Leak Detected" in event for event in pair.bridge.events)
    assert pair.bridge.status(pair.t_s + 31.0)[2]["leak"] is False
