"""Bridge and stand-in take time together, however slow either is: the ground that `shoal ardusub trial` stands on."""

from __future__ import annotations

import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("pymavlink")

from shoal.errors import ShoalError
from shoal_mavlink import lock_step
from shoal_mavlink.dialect import Codec
from shoal_mavlink.link import Link
from shoal_mavlink.lock_step import LockStep


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_stand_in_follows_our_time_and_no_other() -> None:
    port = free_port()
    words = ["-m", "shoal_mavlink.stand_in", "--vehicle", "rov1", "--lockstep", "--link", f"udpin:127.0.0.1:{port}"]
    child = subprocess.Popen([sys.executable, *words])
    try:
        codec, sent_s, beats_s = Codec(255), list[float](), list[float]()
        steps = LockStep(Link(f"udpout:127.0.0.1:{port}"), codec)
        heard = Codec(0)
        for end_s in (10.0, 12.0, 12.0, 14.6):
            for received in steps.up_to(end_s, 0.02, lambda: sent_s.append(steps.t_s)):
                messages = [m.get_type() for data in received for m in heard.parse(data)]
                beats_s += [steps.t_s] * messages.count("HEARTBEAT")
            time.sleep(0.3)  # ours alone: nothing happens there meanwhile
        assert steps.t_s == pytest.approx(14.6) and sent_s == pytest.approx([10.0 + 0.02 * k for k in range(230)])
        # It starts up for 1.6 s and says so then, and at each whole second of its own.
        assert beats_s == pytest.approx([11.6, 12.0, 13.0, 14.0], abs=0.006)
    finally:
        child.terminate()
        child.wait(10)


def test_nobody_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_step, "PATIENCE_S", 0.0)
    steps = LockStep(Link(f"udpout:127.0.0.1:{free_port()}"), Codec(255))
    with pytest.raises(ShoalError, match="expected a stand-in with --lockstep"):
        list(steps.up_to(1.0, 0.02, lambda: None))
