"""Our plant behind SITL's JSON interface: exact packets, lock step, a sender that plays SITL."""

from __future__ import annotations

import json
import socket
import struct
import threading

import numpy as np
import pytest

pytest.importorskip("pymavlink")

from typer.testing import CliRunner

from shoal.cli import app
from shoal.errors import ShoalError
from shoal.messages.state import State
from shoal.vehicles.description import load_vehicle
from shoal_mavlink.sitl import JsonPlant, read_packet, serve
from shoal_mavlink.thruster_plant import ThrusterPlant

HEAVY = load_vehicle("bluerov2_heavy", "von_benzon2022")
REST = [1500] * 8
DIVE = [1500] * 4 + [1700] * 4  # positive effort of 5–8 pushes down


def packet(frame: int, pulses: list[int], rate_hz: int = 400, magic: int = 18458) -> bytes:
    return struct.pack("<HHI16H", magic, rate_hz, frame, *pulses, *([0] * 8))


def made() -> JsonPlant:
    start = State.at_rest((0.0, 0.0, 5.0)).array
    return JsonPlant(lambda substep_s: ThrusterPlant(HEAVY, start, substep_s=substep_s))


def test_answer_is_one_line_without_spaces_in_ned() -> None:
    text = made().reply(packet(0, REST)).decode()
    assert text.startswith("\n") and text.endswith("\n") and text.count("\n") == 2 and " " not in text
    data = json.loads(text)
    assert list(data) == ["timestamp", "imu", "position", "quaternion", "velocity", "battery"]
    assert data["battery"] == {"voltage": 16.0}, (
        "else SITL reports 12.6 V, and the bridge asks for a quarter more thrust"
    )
    assert data["position"] == pytest.approx([0, 0, 5], abs=1e-3) and data["quaternion"] == pytest.approx([1, 0, 0, 0])
    assert data["imu"]["accel_body"] == pytest.approx([0, 0, -9.80665], abs=0.2) and len(data["imu"]["gyro"]) == 3


def test_each_frame_moves_time_by_one_and_a_repeated_one_does_not() -> None:
    plant = made()
    first = plant.reply(packet(0, DIVE))
    assert plant.reply(packet(0, DIVE)) == first
    for frame in range(1, 800):
        last = json.loads(plant.reply(packet(frame, DIVE)))
    assert last["timestamp"] == pytest.approx(2.0)
    assert last["position"][2] > 5.3 and last["velocity"][2] > 0.2
    again = json.loads(plant.reply(packet(0, REST, rate_hz=200)))  # SITL started anew
    assert again["timestamp"] == pytest.approx(0.005) and again["position"][2] == pytest.approx(5.0, abs=0.01)


def test_outputs_that_are_not_set_up_yet_are_neutral_and_rubbish_is_named() -> None:
    assert read_packet(packet(3, [0] * 8)) == (400, 3, REST)
    many = struct.pack("<HHI32H", 29569, 400, 4, *DIVE, *([0] * 24))  # SERVO_32_ENABLE
    assert read_packet(many) == (400, 4, DIVE)
    for data, words in (
        (b"abc", "3 bytes; expected 40 or 72"),
        (packet(0, REST, magic=1), "magic 1 in 40 bytes; expected 18458"),
        (packet(0, REST, magic=29569), "magic 29569 in 40 bytes; expected"),
        (packet(0, REST, rate_hz=3), "3 Hz; expected"),
    ):
        with pytest.raises(ShoalError, match=words):
            read_packet(data)


def test_a_sender_that_plays_sitl_over_udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    done = threading.Event()
    server = threading.Thread(target=serve, args=(made(), port, done.is_set))
    server.start()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
            wire.settimeout(1.0)
            depths = []
            for frame in range(100):
                for _ in range(20):  # SITL sends again while nobody answers
                    wire.sendto(b"rubbish" if frame == 50 else packet(frame, DIVE), ("127.0.0.1", port))
                    wire.sendto(packet(frame, DIVE), ("127.0.0.1", port))
                    try:
                        depths.append(json.loads(wire.recv(4096))["position"][2])
                        break
                    except (TimeoutError, ConnectionError):
                        continue
            assert len(depths) == 100 and np.all(np.diff(depths[10:]) >= -1e-9) and depths[-1] > depths[0]
    finally:
        done.set()
        server.join(5.0)


def test_command_refuses_with_a_sentence() -> None:
    for words, expected in ((["sitl", "bluerov2"], "8 fixed thrusters"), (["sitl", "--voltage", "40"], "--voltage")):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2 and expected in " ".join(result.output.split())
