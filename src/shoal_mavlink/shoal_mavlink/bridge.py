"""One vehicle's bridge without ROS and without sockets: messages and thrust in, messages and odometry out.

It never arms by itself. `arm` has to be asked for, and asked for again after everything that ended it: a restart of the
bridge or the autopilot, a lost link, another mode, disarming by whomever. Until then thrust commands are not passed on.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.ardusub.axis_map import AxisMap
from shoal.ardusub.mixer import COUNT, NEUTRAL_RC
from shoal.ardusub.parameters import Finding, asked_for, check, motor_directions
from shoal.messages.odometry import Odometry
from shoal_mavlink import dialect
from shoal_mavlink.dialect import Codec
from shoal_mavlink.estimate import Estimate

Array = NDArray[np.float64]
LOST_S = 2.5  # without a message
LEAK_TOLD_S = 30.0  # ArduSub repeats its warning every 20 s while the probes are wet
HEARTBEAT_S = 0.5
ASK_S = 0.5  # between two requests for what has not come
ASK_TIMES = 4  # for each parameter, then it counts as unknown
AT_ONCE = 20  # parameters asked for in one go
ARMING_S = 4.0  # in which the autopilot has to be armed and in MANUAL
SCRIPT_S = 3.0  # without a word of the script, which comes once a second
NEUTRAL_FOR_S = 1.0  # neutral after thrust has ended, then the channels are the pilot's
FOREIGN = 3  # reports in a row of channels that we have not sent in the last KEPT / 50 Hz, then somebody else steers
KEPT = 60
FOREIGN_TOLD_S = 5.0
RESTS_S = 0.6  # for which outputs stay neutral after arming, whatever they are told (0.5 s by measurement)


@dataclass(frozen=True)
class BridgeSettings:
    """Of one bridge."""

    autopilot_system: int = 1
    system: int = dialect.GROUND_STATION
    position_source: str = "vehicle"
    command_timeout_s: float = 0.12  # with twice the bridge's 20 ms and the autopilot's 22 ms: neutral within 0.2 s
    odometry_rate_hz: float = 20.0
    route: str = "axes"  # or outputs
    latitude_deg: float = 0.0  # of the origin that the estimator is given, for the earth's magnetic field there
    longitude_deg: float = 0.0


class Bridge:
    """`take` what was received, `thrust` what is wanted, `send` at 50 Hz; time is an argument (s)."""

    def __init__(self, axis_map: AxisMap, settings: BridgeSettings, origin_ned_m: Array | None = None) -> None:
        self.axis_map, self.settings = axis_map, settings
        self.codec = Codec(settings.system)
        self.events: deque[str] = deque(maxlen=100)  # sentences for the log
        self.odometry: list[Odometry] = []
        self.stopped = False
        self.armed, self.engaged, self.mode = False, False, -1
        self.voltage_V = math.nan
        self.outputs_us: list[int] = []
        self.parameters: dict[str, float] = {}
        self.findings: list[Finding] | None = None  # None: not known yet
        self._estimate = Estimate(origin_ned_m)
        self._heard_s = self._beat_s = self._asked_s = self._odometry_s = self._script_s = self._leak_s = -math.inf
        self._tries: dict[str, int] = {}
        self._connected = False
        self._arming_until_s = -math.inf
        self._force_N, self._force_s = np.zeros(COUNT), np.full(COUNT, -math.inf)
        self._neutral_until_s = self._engaged_s = self._foreign_s = -math.inf
        self._sent: deque[tuple[int, ...]] = deque(maxlen=KEPT)  # channels
        self._foreign = 0
        self._out: list[Any] = []

    # -- what the autopilot sends -------------------------------------------------------------------------------

    def take(self, data: bytes, now_s: float) -> None:
        """Bytes from the link."""
        for message in self.codec.parse(data):
            if message.get_srcSystem() == self.settings.autopilot_system and message.get_srcComponent() == 1:
                self._take(message, now_s)

    def _take(self, message: Any, now_s: float) -> None:
        kind = message.get_type()
        self._heard_s = now_s
        if not self._connected:
            self._connect()
        if kind == "HEARTBEAT":
            self._on_heartbeat(message, now_s)
        elif kind == "PARAM_VALUE":
            self.parameters[message.param_id.rstrip("\0")] = float(message.param_value)
        elif kind == "COMMAND_ACK":
            self._on_answer(message)
        elif kind == "RC_CHANNELS":
            self._on_channels(tuple(getattr(message, f"chan{n}_raw") for n in range(1, 7)), now_s)
        elif kind == "NAMED_VALUE_FLOAT" and message.name.rstrip("\0") == dialect.SCRIPT_NAME:
            self._script_s = now_s
        elif kind == "STATUSTEXT":
            self.events.append(f"the autopilot reports: {message.text}")
            if "leak" in message.text.lower():
                self._leak_s = now_s
        elif kind == "SYS_STATUS" and 0 < message.voltage_battery < 65535:
            self._on_voltage(message.voltage_battery * 1e-3)
        elif kind == "SERVO_OUTPUT_RAW":
            self.outputs_us = [getattr(message, f"servo{n}_raw") for n in range(1, COUNT + 1)]
        else:
            self._on_estimate(message, now_s)

    def _connect(self) -> None:
        self._connected = True
        self.events.append(f"connected to autopilot {self.settings.autopilot_system}")
        self._begin_again()

    def _begin_again(self) -> None:
        """Nothing is known of it any more: parameters are read anew, messages asked for."""
        self.parameters, self.findings, self._tries = {}, None, {}
        self._asked_s = -math.inf

    def _on_heartbeat(self, message: Any, now_s: float) -> None:
        armed, mode = bool(message.base_mode & dialect.ARMED), int(message.custom_mode)
        if self.armed and not armed:
            self._disengage("the autopilot has disarmed", now_s)
        if self.engaged and mode != dialect.MANUAL:
            self._disengage(f"the mode is {dialect.mode_name(mode)}, expected MANUAL", now_s)
        self.armed, self.mode = armed, mode
        if now_s < self._arming_until_s and armed and mode == dialect.MANUAL:
            self._arming_until_s = -math.inf
            self.engaged, self._engaged_s = True, now_s
            self.events.append("armed in MANUAL: thrust commands are passed on")

    def _on_answer(self, message: Any) -> None:
        names = {dialect.ARM: "arming", dialect.SET_MODE: "the mode MANUAL"}
        if message.result != dialect.ACCEPTED and message.command in names and math.isfinite(self._arming_until_s):
            self._arming_until_s = -math.inf
            self.events.append(f"the autopilot refused {names[message.command]} (MAV_RESULT {message.result})")

    def _on_channels(self, channels_us: tuple[int, ...], now_s: float) -> None:
        """The joystick of a ground station with our system id overrides the same channels: the last one counts."""
        ours = not self.engaged or now_s - self._engaged_s < RESTS_S or channels_us in self._sent
        self._foreign = 0 if ours else self._foreign + 1
        if self._foreign < FOREIGN:
            return
        if now_s - self._foreign_s > FOREIGN_TOLD_S:
            self.events.append(f"somebody else steers too: RC channels {list(channels_us)} are not ours; "
                               "expected the joystick of QGroundControl to be off")  # fmt: skip
        self._foreign_s = now_s

    def _on_voltage(self, voltage_V: float) -> None:
        first = math.isnan(self.voltage_V)
        self.voltage_V = voltage_V
        if not self.axis_map.set_voltage(voltage_V) and first:
            self.events.append(f"battery voltage of {voltage_V:.1f} V is outside the thrust table: its end is used")

    def _on_estimate(self, message: Any, now_s: float) -> None:
        found = self._estimate.take(message, now_s)
        if self._estimate.restarted:
            self._estimate.restarted = False
            self._disengage("the autopilot has started anew", now_s)
            self.armed = False
            self._begin_again()
        if found is not None and found.is_finite:
            self._odometry_s = now_s
            self.odometry.append(found)

    # -- what the fleet wants -----------------------------------------------------------------------------------

    def thrust(self, force_N: Array, now_s: float) -> None:
        """Forces (8,) in the vehicle's order; NaN for a thruster of which nothing new is known.

        Each counts for as long as it is new itself: whoever drives one thruster only must not set going again what
        somebody else, gone since, had last asked of the others.
        """
        heard = np.isfinite(force_N)
        self._force_N = np.where(heard, force_N, self._force_N)
        self._force_s = np.where(heard, now_s, self._force_s)

    def refusals(self, now_s: float) -> list[str]:
        """Why it must not be armed now; empty: it may."""
        if not self._connected:
            return ["there is no link to the autopilot"]
        found = [] if not self.stopped else ["STOP holds"]
        if self.findings is None:
            return [*found, "the autopilot's parameters have not been read yet"]
        found += [finding.sentence for finding in self.findings if finding.serious]
        if now_s - self._odometry_s > 1.0:
            found.append("the autopilot sends no position and attitude")
        if self.settings.route == "outputs" and now_s - self._script_s > SCRIPT_S:
            found.append(
                "route = 'outputs': shoal_outputs.lua does not answer; expected it in APM/scripts, or route 'axes'"
            )
        return found

    def arm(self, now_s: float) -> list[str]:
        """Ask the autopilot for MANUAL and arming, then pass thrust on. The answer: why not, or nothing."""
        refused = self.refusals(now_s)
        if not refused:
            self._arming_until_s = now_s + ARMING_S
            self._neutral_until_s = now_s + ARMING_S
            self._command(dialect.SET_MODE, 1.0, float(dialect.MANUAL))
            self._command(dialect.ARM, 1.0)
        return refused

    def disarm(self, now_s: float) -> None:
        """By order."""
        self._disengage("disarmed by order", now_s)
        self._command(dialect.ARM, 0.0)

    def external(self, odometry: Odometry, now_s: float) -> None:
        """A position from outside, for the autopilot's estimator."""
        usec = round(max(0.0, now_s) * 1e6)
        where, turn = odometry.position_m.tolist(), odometry.attitude
        if self.settings.position_source == "pose":
            m = rotation_angles(turn)
            self._out.append(self.codec.messages.vision_position_estimate_encode(usec, *where, *m))
        elif self.settings.position_source == "odometry":
            unknown = [math.nan, *([0.0] * 20)]
            speed, rates = odometry.velocity_mps.tolist(), odometry.rate_radps.tolist()
            frames = (dialect.LOCAL_FRD, dialect.BODY_FRD)
            self._out.append(
                self.codec.messages.odometry_encode(
                    usec, *frames, *where, turn.tolist(), *speed, *rates, unknown, unknown
                )
            )

    # -- what goes to the autopilot -----------------------------------------------------------------------------

    def send(self, now_s: float) -> list[bytes]:
        """Called at 50 Hz."""
        if self._connected and now_s - self._heard_s > LOST_S:
            self._connected = False
            self._disengage(f"link lost: nothing from the autopilot for {LOST_S:g} s", now_s)
            self.armed = False
        if math.isfinite(self._arming_until_s) and now_s > self._arming_until_s:
            self._arming_until_s = -math.inf
            self.events.append(f"the autopilot was not armed in MANUAL within {ARMING_S:g} s")
        out = self._out
        self._out = []
        if now_s - self._beat_s >= HEARTBEAT_S:
            self._beat_s = now_s
            out.append(dialect.heartbeat(self.codec))
        if self._connected and now_s - self._asked_s >= ASK_S:
            self._asked_s = now_s
            out += self._questions(now_s)
        channels = self.channels(now_s)
        if channels is not None:
            self._sent.append(tuple(channels))
            out.append(dialect.override(self.codec, self.settings.autopilot_system, channels))
        shares = self.controls(now_s)
        if shares is not None:
            out.append(dialect.controls(self.codec, self.settings.autopilot_system, shares, round(now_s * 1e6)))
        return [self.codec.pack(message) for message in out]

    def channels(self, now_s: float) -> list[int] | None:
        """RC channels 1–6; None: they are the pilot's. Neutral beside the route `outputs`: failsafes listen to them."""
        if not self.engaged:
            return list(NEUTRAL_RC) if now_s < self._neutral_until_s else None
        if self.settings.route == "outputs" or not self._driven(now_s):
            return list(NEUTRAL_RC)
        return self.axis_map.rc(self._wanted_N(now_s))

    def controls(self, now_s: float) -> list[float] | None:
        """Shares of the eight outputs; None: they are the mixer's. Zeros at once, not after the script's time-out."""
        if self.settings.route != "outputs" or not self.engaged:
            return None
        return self.axis_map.controls(self._wanted_N(now_s)) if self._driven(now_s) else [0.0] * COUNT

    def live(self, now_s: float) -> bool:
        """Whether commands reach the thrusters."""
        return self.engaged and not self.stopped and now_s - self._engaged_s >= RESTS_S

    def _fresh(self, now_s: float) -> NDArray[np.bool_]:
        age_s = now_s - self._force_s
        return np.asarray((age_s >= 0.0) & (age_s <= self.settings.command_timeout_s))

    def _wanted_N(self, now_s: float) -> Array:
        return np.where(self._fresh(now_s), self._force_N, 0.0)

    def _driven(self, now_s: float) -> bool:
        return not self.stopped and bool(self._fresh(now_s).any())

    def neutral(self) -> list[bytes]:
        """Last words: neutral, more than once, as a datagram may be lost."""
        self.engaged = False
        target = self.settings.autopilot_system
        words = [dialect.override(self.codec, target, list(NEUTRAL_RC)) for _ in range(3)]
        if self.settings.route == "outputs":
            words += [dialect.controls(self.codec, target, [0.0] * COUNT, 0) for _ in range(3)]
        return [self.codec.pack(word) for word in words]

    def _questions(self, now_s: float) -> list[Any]:
        """Parameters that are not known yet; messages that do not come."""
        s, out = self.settings, []
        names = asked_for(s.position_source, s.route)
        if self.findings is None:
            left = [n for n in names if n not in self.parameters and self._tries.get(n, 0) < ASK_TIMES]
            for name in sorted(left, key=lambda n: self._tries.get(n, 0))[:AT_ONCE]:  # the unanswered last
                self._tries[name] = self._tries.get(name, 0) + 1
                out.append(self.codec.messages.param_request_read_encode(s.autopilot_system, 1, name.encode(), -1))
            if not left:
                self._judge()
        if now_s - self._odometry_s > 1.0 or not self.outputs_us:
            rates = {"ATTITUDE_QUATERNION": s.odometry_rate_hz * 2, "LOCAL_POSITION_NED": s.odometry_rate_hz,
                     "SERVO_OUTPUT_RAW": 10.0, "RC_CHANNELS": 5.0, "SYS_STATUS": 2.0}  # fmt: skip
            for name, rate_hz in rates.items():
                number, interval_us = float(dialect.IDS[name]), 1e6 / rate_hz
                out.append(dialect.command(self.codec, s.autopilot_system, dialect.SET_INTERVAL, number, interval_us))
            if s.position_source != "vehicle":  # without an origin the estimator takes no position from outside
                where = round(s.latitude_deg * 1e7), round(s.longitude_deg * 1e7)
                out.append(self.codec.messages.set_gps_global_origin_encode(s.autopilot_system, *where, 0))
        return out

    def _judge(self) -> None:
        self.findings = check(self.parameters, self.settings.position_source, self.settings.system, self.settings.route)
        self.axis_map.directions = motor_directions(self.parameters)
        for finding in self.findings:
            self.events.append(f"{'it will not be armed: ' if finding.serious else ''}{finding.sentence}")
        if not self.findings:
            self.events.append("the autopilot's parameters fit")

    def _command(self, number: int, *values: float) -> None:
        self._out.append(dialect.command(self.codec, self.settings.autopilot_system, number, *values))

    def _disengage(self, why: str, now_s: float) -> None:
        self._arming_until_s = -math.inf
        tail = ": no thrust is passed on until it is armed again through ~/arm" if self.engaged else ""
        self.events.append(f"{why}{tail}")
        if self.engaged:
            self.engaged = False
            self._neutral_until_s = now_s + NEUTRAL_FOR_S

    # -- status -------------------------------------------------------------------------------------------------

    def status(self, now_s: float) -> tuple[int, str, dict[str, object]]:
        """0 to 2 as in diagnostics, a sentence, and values."""
        values: dict[str, object] = {
            "connected": self._connected, "armed": self.armed, "engaged": self.engaged,
            "mode": dialect.mode_name(self.mode), "voltage_V": self.voltage_V, "outputs_us": self.outputs_us,
            "leak": now_s - self._leak_s < LEAK_TOLD_S,
            "parameters": "not read" if self.findings is None else f"{len(self.findings)} findings",
        }  # fmt: skip
        if not self._connected:
            return 2, "no link to the autopilot", values
        refused = self.refusals(now_s)
        if self.stopped:
            return 1, "STOP: neutral", values
        if self.engaged and now_s - self._foreign_s < FOREIGN_TOLD_S:
            return 1, "armed, somebody else steers too: expected the joystick of QGroundControl to be off", values
        if self.engaged:
            if not self._driven(now_s):
                return 1, "armed, no thrust commands: neutral", values
            return 0, "armed, thrust is passed on", values
        if refused:
            return 2, f"will not arm: {'; '.join(refused)}", values
        return 1, "armed by somebody else" if self.armed else "disarmed, ready for ~/arm", values


def rotation_angles(turn: Array) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a quaternion [eta e1 e2 e3]."""
    w, x, y, z = turn.tolist()
    roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
    return roll, pitch, math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
