"""How long controllers take to answer odometry: for the lock step, for diagnostics and for the benchmark. No ROS."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class ResponseTimer:
    """One vehicle's. Times are nanoseconds of the system clock, as DDS stamps messages."""

    thrusters: int
    asked_ns: int = 0  # when the last odometry was sent
    _before_ns: int = 0
    _newest_ns: dict[int, int] = field(default_factory=dict)  # per thruster: when its last command was sent
    latencies_ms: list[float] = field(default_factory=list)
    arrivals_ns: list[int] = field(default_factory=list)
    asked: int = 0
    in_time: int = 0
    _answered_ask: int = 0

    def sent(self, now_ns: int) -> None:
        """Odometry goes out."""
        self._before_ns, self.asked_ns = self.asked_ns, now_ns
        self.asked += 1

    def received(self, thruster: int, sent_ns: int, received_ns: int) -> None:
        """A command has come. The last thruster's completes an answer."""
        self._newest_ns[thruster] = sent_ns
        if thruster != self.thrusters - 1 or not self.asked:
            return
        self.arrivals_ns.append(received_ns)
        if sent_ns >= self.asked_ns:
            self.latencies_ms.append((received_ns - self.asked_ns) * 1e-6)
            self.in_time += self._answered_ask != self.asked
            self._answered_ask = self.asked
        elif self._before_ns:  # sent before the newest odometry: it answers the one before
            self.latencies_ms.append((received_ns - self._before_ns) * 1e-6)

    @property
    def complete(self) -> bool:
        """Whether all thrusters were commanded since the last odometry."""
        return self.ever and min(self._newest_ns.values()) >= self.asked_ns

    @property
    def ever(self) -> bool:
        """Whether all thrusters were ever commanded."""
        return len(self._newest_ns) == self.thrusters

    def forget(self) -> None:
        """Keep no figures from before; for the start, where everybody is slow."""
        self.latencies_ms.clear()
        self.arrivals_ns.clear()
        self.asked = self.in_time = self._answered_ask = 0

    def summary(self, period_s: float) -> dict[str, float]:
        """Latency and jitter, ms of the wall clock."""
        gaps_ms = np.diff(np.array(self.arrivals_ns, dtype=float)) * 1e-6
        if not len(gaps_ms) or not self.latencies_ms:
            return {"answers": float(len(self.latencies_ms)), "asked": float(self.asked)}
        off = np.abs(gaps_ms - period_s * 1e3)
        return {
            "answers": float(len(self.latencies_ms)),
            "asked": float(self.asked),
            "in_time_share": min(1.0, self.in_time / max(1, self.asked - 1)),  # nobody waits for the last answer
            "latency_median_ms": float(np.median(self.latencies_ms)),
            "latency_p99_ms": float(np.percentile(self.latencies_ms, 99)),
            "latency_max_ms": float(np.max(self.latencies_ms)),
            "period_mean_ms": float(gaps_ms.mean()),
            "jitter_median_ms": float(np.median(off)),
            "jitter_p99_ms": float(np.percentile(off, 99)),
        }


def write(path: Path, wall_period_s: float, answers: dict[str, ResponseTimer], factor: float) -> None:
    """For the benchmark."""
    data = {"vehicles": {n: a.summary(wall_period_s) for n, a in answers.items()}, "real_time_factor": factor}
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
