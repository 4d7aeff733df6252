"""Our plant behind ArduSub SITL's JSON interface (`--model JSON`): pulse widths in, state out, in lock step."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable

import numpy as np

from shoal.ardusub.mixer import COUNT, NEUTRAL_US
from shoal.errors import ShoalError
from shoal_mavlink.thruster_plant import ThrusterPlant

PORT = 9002
# Magic, frame rate (Hz), frame count, pulse widths of 16 outputs, or of 32 (SERVO_32_ENABLE).
PACKETS = {18458: struct.Struct("<HHI16H"), 29569: struct.Struct("<HHI32H")}
RATES_HZ = (50, 2000)
RESTART = 1000  # a frame count that is lower by more: SITL was started anew


def read_packet(data: bytes) -> tuple[int, int, list[int]]:
    """Frame rate, frame count, the eight pulse widths; a ShoalError when it is none of SITL's."""
    sizes = {packet.size for packet in PACKETS.values()}
    if len(data) not in sizes:
        known = " or ".join(map(str, sorted(sizes)))
        raise ShoalError(f"packet of {len(data)} bytes; expected {known}, as ArduSub SITL's JSON interface sends")
    magic = int.from_bytes(data[:2], "little")
    if magic not in PACKETS or PACKETS[magic].size != len(data):
        known = " or ".join(f"{number} in {packet.size} bytes" for number, packet in PACKETS.items())
        raise ShoalError(f"packet with magic {magic} in {len(data)} bytes; expected {known}")
    _, rate_hz, frame, *pulses = PACKETS[magic].unpack(data)
    if not RATES_HZ[0] <= rate_hz <= RATES_HZ[1]:
        raise ShoalError(f"frame rate of {rate_hz} Hz; expected {RATES_HZ[0]} to {RATES_HZ[1]}")
    # Before the outputs are set up SITL sends zeros.
    return rate_hz, frame, [p if 800 <= p <= 2200 else NEUTRAL_US for p in pulses[:COUNT]]


def answer(plant: ThrusterPlant, t_s: float) -> bytes:
    """One line of JSON, NED and FRD; SITL's reader stumbles over a space after a colon."""
    position, attitude, velocity, rates = (np.asarray(part).tolist() for part in plant.parts())
    line = {
        "timestamp": t_s,
        "imu": {"gyro": rates, "accel_body": plant.specific_force_mps2.tolist()},
        "position": position,
        "quaternion": attitude,
        "velocity": velocity,
        "battery": {"voltage": plant.voltage_V},  # from 4.7 on; before, SIM_BATT_VOLTAGE is what SITL reports
    }
    return f"\n{json.dumps(line, separators=(',', ':'))}\n".encode()


class JsonPlant:
    """Answers each packet with the state one frame later; the same packet again gets the same answer."""

    def __init__(self, make: Callable[[float], ThrusterPlant]) -> None:
        """`make`: a plant with a given substep (s)."""
        self._make = make
        self._plant: ThrusterPlant | None = None
        self._rate_hz, self._frame = 0, -1
        self._start_s = self.t_s = 0.0

    @property
    def plant(self) -> ThrusterPlant | None:
        """None before the first packet."""
        return self._plant

    def reply(self, data: bytes) -> bytes:
        """To one packet."""
        rate_hz, frame, pulses = read_packet(data)
        if self._plant is None or frame < self._frame - RESTART or (frame < self._frame and frame <= 1):
            self._plant, self._rate_hz, self.t_s = self._make(1.0 / rate_hz), rate_hz, 0.0
        elif frame == self._frame:
            return answer(self._plant, self.t_s)
        elif rate_hz != self._rate_hz:
            old = self._plant
            self._plant, self._rate_hz = self._make(1.0 / rate_hz), rate_hz
            self._plant.plant.states[:], self._plant.plant.forces_N = old.plant.states, old.plant.forces_N
        self._frame = frame
        self._plant.step(pulses, 1.0 / rate_hz)
        self.t_s += 1.0 / rate_hz
        return answer(self._plant, self.t_s)


def serve(plant: JsonPlant, port: int = PORT, stop: Callable[[], bool] = lambda: False) -> None:
    """Until `stop`; packets that make no sense are reported once and left."""
    from shoal.console import print_warning

    complained: set[str] = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        try:
            wire.bind(("127.0.0.1", port))
        except OSError as error:
            raise ShoalError(f"UDP port {port}: {error.strerror}; expected a free port") from None
        wire.settimeout(0.2)
        while not stop():
            try:
                data, sender = wire.recvfrom(4096)
            except TimeoutError:
                continue
            try:
                wire.sendto(plant.reply(data), sender)
            except ShoalError as error:
                if str(error) not in complained:
                    complained.add(str(error))
                    print_warning(str(error))
