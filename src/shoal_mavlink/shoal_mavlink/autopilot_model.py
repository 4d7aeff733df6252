"""An ArduSub as it was measured (4.5.7 SITL), to test a bridge against: not its code, its behaviour at the wire.

Mixer to the microsecond, overrides sampled at 50 Hz, outputs at neutral for half a second after arming, failsafe times,
commands from one ground station's system id only. Of the modes only MANUAL drives; in the others outputs stay neutral.
Time is an argument: tests run it as fast as they like, `stand_in` in real time or in lock step.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymavlink.dialects.v20 import ardupilotmega as mavlink

from shoal.ardusub import mixer
from shoal.ardusub.parameters import YAW_GAIN, motor_directions
from shoal.frames import rotation_matrix
from shoal.messages.odometry import Odometry
from shoal.simulation.conditions import Sensors
from shoal.simulation.sensors import OdometrySensor
from shoal_mavlink import dialect
from shoal_mavlink.dialect import Codec
from shoal_mavlink.thruster_plant import ThrusterPlant

Array = NDArray[np.float64]
TICK_S = 0.005
SAMPLE_TICKS = 4  # overrides are read at 50 Hz
BOOT_S = 1.6
NEUTRAL_AFTER_ARMING_S = 0.5
GCS_TIMEOUT_S = 2.6
EXTERNAL_TIMEOUT_S = 1.0
SCRIPT_LASTS_S = 0.1  # of an output set by the script
STEERING = ("RC_CHANNELS_OVERRIDE", "SET_ACTUATOR_CONTROL_TARGET")
DEFAULT_RATES_HZ = {"HEARTBEAT": 1.0, "SYS_STATUS": 2.0, "NAMED_VALUE_FLOAT": 1.0}
GOOD_PARAMETERS: dict[str, float] = {
    "FRAME_CONFIG": 2, "SYSID_MYGCS": 255, "FS_PILOT_INPUT": 2, "FS_PILOT_TIMEOUT": 3, "FS_GCS_ENABLE": 2,
    "FS_LEAK_ENABLE": 1, "SCR_ENABLE": 0,
    "ACRO_YAW_P": YAW_GAIN, "MOT_PWM_MIN": 1100, "MOT_PWM_MAX": 1900, "BATT_MONITOR": 4,
    "GPS_TYPE": 0, "VISO_TYPE": 1, "EK3_SRC1_POSXY": 3, "EK3_SRC1_POSZ": 1,
    "EK3_SRC1_VELXY": 6, "EK3_SRC1_VELZ": 6, "EK3_SRC1_YAW": 1,
    **{f"MOT_{n}_DIRECTION": 1 for n in range(1, 9)}, **{f"SERVO{n}_FUNCTION": 32 + n for n in range(1, 9)},
    **{f"RC{n}_MIN": 1100 for n in range(1, 7)}, **{f"RC{n}_MAX": 1900 for n in range(1, 7)},
    **{f"RC{n}_TRIM": 1100 if n == 3 else 1500 for n in range(1, 7)}, **{f"RC{n}_REVERSED": 0 for n in range(1, 7)},
    "RC_OPTIONS": 32, "RC_OVERRIDE_TIME": 3,
}  # fmt: skip


@dataclass
class _State:
    """What a restart forgets."""

    armed: bool = False
    armed_s: float = -math.inf
    mode: int = dialect.MANUAL
    channels_us: list[int] = field(default_factory=lambda: [mixer.NEUTRAL_US] * 6)
    sampled_us: list[int] = field(default_factory=lambda: [mixer.NEUTRAL_US] * 6)
    override_s: float = -math.inf
    ground_s: float = -math.inf  # heartbeat or override
    rates_hz: dict[str, float] = field(default_factory=lambda: dict(DEFAULT_RATES_HZ))
    sent_slot: dict[str, int] = field(default_factory=dict)
    external: Array | None = None  # what was received, minus the truth at that moment (3,)
    external_s: float = -math.inf
    origin_deg: tuple[float, float] | None = None  # of the estimator; without it no position from outside is taken
    scripted_us: list[int] | None = None  # by shoal_outputs.lua
    scripted_s: float = -math.inf


class AutopilotModel:
    """`receive` messages, `advance` to a time; both give the messages that go out."""

    def __init__(
        self, plant: ThrusterPlant, parameters: Mapping[str, float] | None = None, system: int = 1,
        sensors: Sensors | None = None, seed: int = 0, start_s: float = 0.0,
    ) -> None:  # fmt: skip
        self.plant, self.codec = plant, Codec(system, dialect.AUTOPILOT_COMPONENT)
        self.parameters = dict(GOOD_PARAMETERS if parameters is None else parameters)
        self._sensor = OdometrySensor(sensors or Sensors(), np.random.default_rng([seed, 3, system]))
        self.outputs_us = [mixer.NEUTRAL_US] * 8
        self.now_s = start_s
        self._ticks = 0
        self._start_s = start_s
        self.moored = False  # held in its place until it is armed
        self.late_s = 0.0  # of what steers the outputs, on its way to us
        self._on_the_way: deque[tuple[float, Any]] = deque()
        self.reboot()

    def reboot(self) -> None:
        """Power off and on; parameters stay."""
        self._booted_s, self.state = self.now_s, _State()
        self._set_neutral()

    @property
    def running(self) -> bool:
        """Whether it has started up."""
        return self.now_s - self._booted_s >= BOOT_S

    @property
    def boot_ms(self) -> int:
        """Since power was switched on."""
        return round((self.now_s - self._booted_s) * 1e3)

    # -- in -----------------------------------------------------------------------------------------------------

    def receive(self, message: Any) -> list[Any]:
        """Answers."""
        if not self.running:
            return []
        if self.late_s and message.get_type() in STEERING:
            self._on_the_way.append((self.now_s + self.late_s, message))
            return []
        return self._act(message)

    def _act(self, message: Any) -> list[Any]:
        kind, sender, s = message.get_type(), message.get_srcSystem(), self.state
        ours = sender == int(self.parameters.get("SYSID_MYGCS", 255))
        if kind == "HEARTBEAT" and ours:
            s.ground_s = self.now_s
        elif kind == "RC_CHANNELS_OVERRIDE" and ours:
            self._override(message)
        elif kind == "COMMAND_LONG" and ours:
            return self._command(message)
        elif kind == "SET_ACTUATOR_CONTROL_TARGET" and ours and self.parameters.get("SCR_ENABLE") == 1:
            self._scripted(list(message.controls))
        elif kind == "PARAM_REQUEST_READ":
            return self._parameter(message)
        elif kind in ("VISION_POSITION_ESTIMATE", "ODOMETRY"):
            s.external = np.array([message.x, message.y, message.z]) - self.plant.state[:3]
            s.external_s = self.now_s
        elif kind == "SET_GPS_GLOBAL_ORIGIN" and s.origin_deg is None:
            s.origin_deg = message.latitude * 1e-7, message.longitude * 1e-7
        return []

    def _override(self, message: Any) -> None:
        s = self.state
        s.override_s = s.ground_s = self.now_s
        for n in range(6):
            value = getattr(message, f"chan{n + 1}_raw")
            if value not in (0, 65535):  # released; left alone
                s.channels_us[n] = int(value)

    def _scripted(self, shares: list[float]) -> None:
        """As shoal_outputs.lua does; a test holds the two against each other."""
        if self.state.armed and self.state.mode == dialect.MANUAL and all(-1.0 <= share <= 1.0 for share in shares):
            half = mixer.HALF_RANGE_US
            self.state.scripted_us = [math.floor(mixer.NEUTRAL_US + half * share + 0.5) for share in shares]
            self.state.scripted_s = self.now_s

    def _command(self, message: Any) -> list[Any]:
        s, number, result = self.state, int(message.command), dialect.ACCEPTED
        answers: list[Any] = []
        if number == dialect.ARM:
            if message.param1 and not s.armed:
                s.armed, s.armed_s = True, self.now_s
                s.override_s = max(s.override_s, self.now_s)  # the pilot's time begins now
                s.ground_s = self.now_s
                answers.append(self._text(6, "Arming motors"))
            elif not message.param1:
                answers += self._disarm("Disarming motors")
        elif number == dialect.SET_MODE:
            if int(message.param2) in dialect.MODES:
                s.mode = int(message.param2)
            else:
                result = dialect.DENIED
        elif number == dialect.SET_INTERVAL:
            names = [name for name, i in dialect.IDS.items() if i == int(message.param1)]
            for name in names:
                s.rates_hz[name] = 1e6 / message.param2 if message.param2 > 0 else 0.0
            result = dialect.ACCEPTED if names else dialect.DENIED
        elif number == dialect.REBOOT:
            self.reboot()
        else:
            result = dialect.UNSUPPORTED
        return [self.codec.messages.command_ack_encode(number, result), *answers]

    def _parameter(self, message: Any) -> list[Any]:
        name = message.param_id.rstrip("\0")
        if name not in self.parameters:
            return []
        index = list(self.parameters).index(name)
        value, kind = float(self.parameters[name]), int(mavlink.MAV_PARAM_TYPE_REAL32)
        return [self.codec.messages.param_value_encode(name.encode(), value, kind, len(self.parameters), index)]

    # -- time ---------------------------------------------------------------------------------------------------

    def advance(self, now_s: float, ticked: Callable[[], None] | None = None) -> list[Any]:
        """Up to `now_s`, in ticks of 5 ms; `ticked` after each."""
        out: list[Any] = []
        while self._start_s + (self._ticks + 1) * TICK_S <= now_s + 1e-9:
            self._ticks += 1
            self.now_s = self._start_s + self._ticks * TICK_S
            out += self._tick()
            if ticked is not None:
                ticked()
        return out

    def _tick(self) -> list[Any]:
        s, out = self.state, []
        start = self.plant.state.copy()
        self.plant.step(self.outputs_us, TICK_S)
        self.moored = self.moored and not s.armed
        if self.moored:
            self.plant.state[:] = start
        while self._on_the_way and self._on_the_way[0][0] <= self.now_s + 1e-9:
            self._act(self._on_the_way.popleft()[1])
        if not self.running:
            return []
        out += self._failsafes()
        # One tick from reading to output: with the sampling, 5 to 25 ms from the wire to the thrusters.
        if self._ticks % SAMPLE_TICKS == 1 or not self._driving:
            self.outputs_us = self._mixed()
        if s.scripted_us is not None and self._driving:
            late = self.now_s - s.scripted_s > SCRIPT_LASTS_S
            self.outputs_us = self._mixed() if late else s.scripted_us
            s.scripted_us = None if late else s.scripted_us
        if self._ticks % SAMPLE_TICKS == 0:
            s.sampled_us = list(s.channels_us)
        return out + self._telemetry()

    @property
    def _driving(self) -> bool:
        s = self.state
        return s.armed and self.now_s - s.armed_s >= NEUTRAL_AFTER_ARMING_S and s.mode == dialect.MANUAL

    def _mixed(self) -> list[int]:
        s = self.state
        if not self._driving:
            return [mixer.NEUTRAL_US] * 8
        scale = self.parameters.get("ACRO_YAW_P", YAW_GAIN) / YAW_GAIN
        return mixer.outputs_us(s.sampled_us, motor_directions(self.parameters), scale)

    def _failsafes(self) -> list[Any]:
        s = self.state
        if not s.armed:
            return []
        if self.parameters.get("FS_PILOT_INPUT") == 2:
            limit_s = self.parameters.get("FS_PILOT_TIMEOUT", 3.0)
            if self.now_s - s.override_s > limit_s:
                return self._disarm("Lost manual control")
        if self.parameters.get("FS_GCS_ENABLE") == 2 and self.now_s - s.ground_s > GCS_TIMEOUT_S:
            return self._disarm("MYGCS: 255, heartbeat lost")
        return []

    def _disarm(self, text: str) -> list[Any]:
        if not self.state.armed:
            return []
        self.state.armed = False
        self.state.scripted_us = None
        self._set_neutral()
        return [self._text(2, text)]

    def _set_neutral(self) -> None:
        self.state.channels_us = [mixer.NEUTRAL_US] * 6
        self.state.sampled_us = [mixer.NEUTRAL_US] * 6
        self.outputs_us = [mixer.NEUTRAL_US] * 8

    # -- out ----------------------------------------------------------------------------------------------------

    def _text(self, severity: int, text: str) -> Any:
        return self.codec.messages.statustext_encode(severity, text.encode())

    def _telemetry(self) -> list[Any]:
        out = []
        for name, rate_hz in self.state.rates_hz.items():
            slot = math.floor((self.now_s - self._booted_s) * rate_hz + 1e-6)
            if rate_hz > 0 and slot > self.state.sent_slot.get(name, -1):
                self.state.sent_slot[name] = slot
                out += getattr(self, f"_{name.lower()}")()
        return out

    def _heartbeat(self) -> list[Any]:
        s = self.state
        base = int(mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED) | (dialect.ARMED if s.armed else 0)
        status = int(mavlink.MAV_STATE_ACTIVE if s.armed else mavlink.MAV_STATE_STANDBY)
        kind, autopilot = mavlink.MAV_TYPE_SUBMARINE, mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA
        return [self.codec.messages.heartbeat_encode(kind, autopilot, base, s.mode, status)]

    def _named_value_float(self) -> list[Any]:
        if self.parameters.get("SCR_ENABLE") != 1:
            return []
        return [self.codec.messages.named_value_float_encode(self.boot_ms, dialect.SCRIPT_NAME.encode(), 1.0)]

    def _sys_status(self) -> list[Any]:
        voltage_mV = round(self.plant.voltage_V * 1e3) if self.parameters.get("BATT_MONITOR") else 65535
        return [self.codec.messages.sys_status_encode(0, 0, 0, 0, voltage_mV, -1, -1, 0, 0, 0, 0, 0, 0)]

    def _battery_status(self) -> list[Any]:
        cells = [round(self.plant.voltage_V * 1e3), *([65535] * 9)]
        return [self.codec.messages.battery_status_encode(0, 0, 0, 32767, cells, -1, -1, -1, -1)]

    def _servo_output_raw(self) -> list[Any]:
        return [self.codec.messages.servo_output_raw_encode(self.boot_ms * 1000 % 2**32, 0, *self.outputs_us)]

    def _rc_channels(self) -> list[Any]:
        channels = [*self.state.sampled_us, *([0] * 12)]
        return [self.codec.messages.rc_channels_encode(self.boot_ms, 16, *channels, 255)]

    def _measured(self) -> Odometry | None:
        t_s = self.plant.t_s
        self._sensor.push(t_s, self.plant.state)
        return self._sensor.latest(t_s)

    def _attitude_quaternion(self) -> list[Any]:
        measured = self._measured()
        if measured is None:
            return []
        turn, rates = measured.attitude.tolist(), measured.rate_radps.tolist()
        return [self.codec.messages.attitude_quaternion_encode(self.boot_ms, *turn, *rates)]

    def _local_position_ned(self) -> list[Any]:
        measured, s = self._measured(), self.state
        if measured is None:
            return []
        position_m = measured.position_m
        if self.parameters.get("EK3_SRC1_POSXY") == 6:
            if s.external is None or s.origin_deg is None or self.now_s - s.external_s > EXTERNAL_TIMEOUT_S:
                return []
            position_m = position_m + s.external
        velocity_mps = rotation_matrix(measured.attitude) @ measured.velocity_mps
        where, speed = position_m.tolist(), velocity_mps.tolist()
        return [self.codec.messages.local_position_ned_encode(self.boot_ms, *where, *speed)]
