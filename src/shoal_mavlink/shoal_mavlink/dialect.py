"""MAVLink 2 with ArduPilot's messages: bytes ↔ messages, and the few numbers that are used of it."""

from __future__ import annotations

from typing import Any

from pymavlink.dialects.v20 import ardupilotmega as mavlink

GROUND_STATION, AUTOPILOT_COMPONENT = 255, 1
MANUAL = 19
SCRIPT_NAME = "SHOAL8"  # by which shoal_outputs.lua makes itself known, as NAMED_VALUE_FLOAT
MODES = {0: "STABILIZE", 1: "ACRO", 2: "ALT_HOLD", 3: "AUTO", 4: "GUIDED", 7: "CIRCLE", 9: "SURFACE", 16: "POSHOLD",
         19: "MANUAL", 20: "MOTOR_DETECT", 21: "SURFTRAK"}  # fmt: skip
ARMED = int(mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
ACCEPTED, DENIED = int(mavlink.MAV_RESULT_ACCEPTED), int(mavlink.MAV_RESULT_DENIED)
UNSUPPORTED = int(mavlink.MAV_RESULT_UNSUPPORTED)
ARM, SET_MODE = int(mavlink.MAV_CMD_COMPONENT_ARM_DISARM), int(mavlink.MAV_CMD_DO_SET_MODE)
SET_INTERVAL, REBOOT = int(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL), int(mavlink.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN)
LOCAL_FRD, BODY_FRD = int(mavlink.MAV_FRAME_LOCAL_FRD), int(mavlink.MAV_FRAME_BODY_FRD)
IDS = {
    "SYS_STATUS": 1, "ATTITUDE": 30, "ATTITUDE_QUATERNION": 31, "LOCAL_POSITION_NED": 32, "SERVO_OUTPUT_RAW": 36,
    "RC_CHANNELS": 65, "BATTERY_STATUS": 147, "ODOMETRY": 331,
}  # fmt: skip


def mode_name(number: int) -> str:
    """`MANUAL`, or the number of one we have no name for."""
    return MODES.get(number, f"mode {number}")


class Codec:
    """One end of a link: packs as one system, parses what comes, whatever rubbish is in between."""

    def __init__(self, system: int, component: int = 190) -> None:
        """Component 190: a mission planner, as ground stations are."""
        self.messages: Any = mavlink.MAVLink(None, srcSystem=system, srcComponent=component)
        self._parser: Any = mavlink.MAVLink(None)
        self._parser.robust_parsing = True

    def pack(self, message: Any) -> bytes:
        """With our system id and the next sequence number."""
        return bytes(message.pack(self.messages))

    def parse(self, data: bytes) -> list[Any]:
        """Whole messages, without what could not be read."""
        found = self._parser.parse_buffer(data) or []
        return [message for message in found if message.get_type() != "BAD_DATA"]


def heartbeat(codec: Codec) -> Any:
    """Of a ground station."""
    return codec.messages.heartbeat_encode(mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 0)


def command(codec: Codec, target: int, number: int, *values: float) -> Any:
    """COMMAND_LONG to an autopilot."""
    filled = [*values, *([0.0] * (7 - len(values)))]
    return codec.messages.command_long_encode(target, AUTOPILOT_COMPONENT, number, 0, *filled)


def controls(codec: Codec, target: int, shares: list[float], usec: int) -> Any:
    """SET_ACTUATOR_CONTROL_TARGET: all eight outputs, −1 to 1, for the script `shoal_outputs.lua`."""
    return codec.messages.set_actuator_control_target_encode(usec, 0, target, AUTOPILOT_COMPONENT, shares)


def override(codec: Codec, target: int, channels_us: list[int]) -> Any:
    """RC_CHANNELS_OVERRIDE of channels 1–6; the others are left alone (65535)."""
    return codec.messages.rc_channels_override_encode(target, AUTOPILOT_COMPONENT, *channels_us, 65535, 65535)


def timesync(codec: Codec, asked_ns: int, answered_ns: int = 0) -> Any:
    """TIMESYNC: a question carries the asker's time alone, an answer both."""
    return codec.messages.timesync_encode(answered_ns, asked_ns)
