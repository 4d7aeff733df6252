"""All eight outputs by the script on the autopilot: the script itself, run in Lua, and the bridge's way through it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pymavlink")

import shoal_mavlink
from shoal.ardusub.axis_map import AxisMap
from shoal.messages.state import State
from shoal.vehicles.curves import load_table
from shoal.vehicles.description import load_vehicle
from shoal_mavlink import dialect
from shoal_mavlink.autopilot_model import GOOD_PARAMETERS, AutopilotModel
from shoal_mavlink.bridge import Bridge, BridgeSettings
from shoal_mavlink.dialect import Codec
from shoal_mavlink.thruster_plant import ThrusterPlant

HEAVY = load_vehicle("bluerov2_heavy", "von_benzon2022")
REST = [1500] * 8
SCRIPT = (Path(shoal_mavlink.__file__).parent / "shoal_outputs.lua").read_text(encoding="utf-8")
PUSH_N = np.array([6.0, -4.0, 9.0, 2.0, -7.0, 3.0, 5.0, -1.0])  # no wrench of six axes alone: all eight differ


class Desk:
    """A bridge and the stand-in for an autopilot on a wire."""

    def __init__(self, **parameters: float) -> None:
        plant = ThrusterPlant(HEAVY, State.at_rest((0.0, 0.0, 5.0)).array)
        self.model = AutopilotModel(plant, {**GOOD_PARAMETERS, "SCR_ENABLE": 1, **parameters})
        self.axis_map = AxisMap(HEAVY)
        self.bridge = Bridge(self.axis_map, BridgeSettings(route="outputs"))
        self.bridge_dead = False

    def run(self, seconds: float, force_N: np.ndarray | None = None) -> None:
        m = self.model
        for _ in range(round(seconds / 0.02)):
            if force_N is not None:
                self.bridge.thrust(force_N, m.now_s)
            answers: list[Any] = []
            if not self.bridge_dead:
                for message in m.codec.parse(b"".join(self.bridge.send(m.now_s))):
                    answers += m.receive(message)
            for answer in answers + m.advance(m.now_s + 0.02):
                self.bridge.take(m.codec.pack(answer), m.now_s)

    def swim(self) -> None:
        self.run(5.0)
        assert self.bridge.arm(self.model.now_s) == []
        self.run(1.5, PUSH_N)

    def rests_after_s(self, force_N: np.ndarray | None = None) -> float:
        start_s = self.model.now_s
        while self.model.outputs_us != REST:
            self.run(0.02, force_N)
            assert self.model.now_s - start_s < 4.0
        return self.model.now_s - start_s


@pytest.mark.parametrize("direction", [1, -1])
def test_every_thruster_gets_its_own_force(direction: int) -> None:
    desk = Desk(MOT_3_DIRECTION=direction)
    desk.swim()
    produced = desk.axis_map.layout.to_autopilot(PUSH_N)
    expected = load_table("t200").at(16.0).signal(produced * desk.axis_map.directions)
    assert desk.model.outputs_us == pytest.approx(expected, abs=1.0)


def test_neutral_when_commands_stop_on_stop_and_when_the_bridge_dies() -> None:
    desk = Desk()
    desk.swim()
    assert desk.rests_after_s() <= 0.2
    desk.run(0.5, PUSH_N)
    desk.bridge.stopped = True
    assert desk.rests_after_s(PUSH_N) <= 0.06
    desk.bridge.stopped = False
    desk.run(0.5, PUSH_N)
    desk.bridge_dead = True
    assert desk.rests_after_s(PUSH_N) <= 0.15, "the script's own time-out; by overrides it would be three seconds"


def test_not_armed_without_the_script() -> None:
    desk = Desk(SCR_ENABLE=0)
    desk.run(5.0)
    refused = desk.bridge.arm(desk.model.now_s)
    assert any("SCR_ENABLE = 0" in why for why in refused) and any("shoal_outputs.lua" in why for why in refused)


class Autopilot:
    """What the script sees of ArduPilot."""

    def __init__(self) -> None:
        lua53 = pytest.importorskip("lupa.lua53")  # ArduPilot's version
        self.lua = lua53.LuaRuntime(unpack_returned_tuples=True, encoding=None)
        self.queue: list[bytes] = []
        self.outputs: dict[int, tuple[int, int]] = {}
        self.armed, self.mode, self.named = True, dialect.MANUAL, list[bytes]()
        g = self.lua.globals()
        table = self.lua.table_from
        g[b"mavlink"] = table({b"init": lambda *_: None, b"register_rx_msgid": lambda *_: None,
                               b"receive_chan": lambda *_: self.queue.pop(0) if self.queue else None})  # fmt: skip
        g[b"param"] = table({b"get": lambda _, name: 255 if name == b"SYSID_MYGCS" else None})
        g[b"arming"] = table({b"is_armed": lambda _: self.armed})
        g[b"vehicle"] = table({b"get_mode": lambda _: self.mode})
        g[b"gcs"] = table({b"send_text": lambda *_: None, b"send_named_float": lambda _, n, __: self.named.append(n)})
        g[b"SRV_Channels"] = table({b"set_output_pwm_chan_timeout": self._set})
        self.update = self.lua.execute(SCRIPT.encode())[0]

    def _set(self, _: Any, channel: int, width_us: int, lasts_ms: int) -> None:
        self.outputs[channel] = width_us, lasts_ms

    def receive(self, message: Any, system: int = 255) -> None:
        """As the autopilot hands it over: the parser's struct, the payload filled up with zeros."""
        packed = Codec(system).pack(message)
        payload = packed[10 : 10 + packed[1]].ljust(43, b"\0")
        self.queue.append(b"\0\0" + packed[:10] + payload + b"\0\0")
        self.outputs.clear()
        self.update()


def target(shares: list[float]) -> Any:
    return dialect.controls(Codec(255), 1, shares, 12345)


def test_the_script_sets_what_the_stand_in_does() -> None:
    autopilot, rng = Autopilot(), np.random.default_rng(3)
    model = AutopilotModel(ThrusterPlant(HEAVY, State.at_rest((0.0, 0.0, 5.0)).array))
    model.state.armed = True
    for _ in range(100):
        shares = [struct.unpack("<f", struct.pack("<f", share))[0] for share in rng.uniform(-1, 1, 8).tolist()]
        autopilot.receive(target(shares))
        model._scripted(shares)
        assert [autopilot.outputs[n] for n in range(8)] == [(width, 100) for width in model.state.scripted_us or []]
    assert autopilot.named[:1] == [dialect.SCRIPT_NAME.encode()]


@pytest.mark.parametrize("why", ["disarmed", "mode", "sender", "number", "range"])
def test_the_script_sets_nothing(why: str) -> None:
    autopilot = Autopilot()
    shares = [0.5] * 8
    autopilot.armed = why != "disarmed"
    autopilot.mode = 2 if why == "mode" else dialect.MANUAL
    shares[3] = {"number": float("nan"), "range": 1.2}.get(why, 0.5)
    autopilot.receive(target(shares), 200 if why == "sender" else 255)
    assert autopilot.outputs == {}
