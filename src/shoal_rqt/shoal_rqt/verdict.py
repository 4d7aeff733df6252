"""The verdict on a test as the station saw it, at once. The report made from the recording has more figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.messages.health import Mode
from shoal.messages.limits import Limits

if TYPE_CHECKING:
    from shoal_rqt.model import FleetModel

FOLLOWING = Mode.CONTROLLER.name.lower()  # as in /diagnostics
COMPLETE = 0.8  # share of its duration from which on a test that has ended counts as run to its end


@dataclass(frozen=True)
class TestVerdict:
    """Of one test."""

    __test__ = False

    test: str
    finished: bool  # ran to its end
    angle_max_deg: float | None
    distance_min_m: float | None
    angle_pair: tuple[str, str] | None
    distance_pair: tuple[str, str] | None
    fallbacks: frozenset[str]  # vehicles whose controller fell back
    limits: Limits

    @property
    def passed(self) -> bool:
        """Ran to its end and kept all hard limits."""
        return self.finished and not self.lost_sight and not self.too_close

    @property
    def lost_sight(self) -> bool:
        """A vehicle turned away beyond the hard limit."""
        return self.angle_max_deg is not None and self.angle_max_deg > self.limits.sight_hard_deg

    @property
    def too_close(self) -> bool:
        """Two vehicles came closer than the hard limit."""
        return self.distance_min_m is not None and self.distance_min_m < self.limits.distance_hard_m

    def sentence(self) -> str:
        """`circle: passed. Largest angle 12° (a → b), smallest distance 2.1 m (a, b)`."""
        verdict = "passed" if self.passed else "FAILED" if self.finished else "aborted"
        parts = []
        if self.angle_max_deg is not None and self.angle_pair:
            lost = " lost sight:" if self.lost_sight else ""
            parts.append(f"{lost} largest angle {self.angle_max_deg:.0f}° ({' → '.join(self.angle_pair)})")
        if self.distance_min_m is not None and self.distance_pair:
            close = " too close:" if self.too_close else ""
            parts.append(f"{close} smallest distance {self.distance_min_m:.2f} m ({', '.join(self.distance_pair)})")
        if self.fallbacks:
            parts.append(f"fallbacks on {', '.join(sorted(self.fallbacks))}")
        rest = ", ".join(part.strip() for part in parts)
        return f"{self.test}: {verdict}. {rest[:1].upper()}{rest[1:]}"


class TestMonitor:
    """Follows the model while a test runs."""

    __test__ = False

    def __init__(self) -> None:
        self._running: tuple[object, ...] | None = None
        self._reset()

    def _reset(self) -> None:
        self._angle: tuple[float, tuple[str, str]] | None = None
        self._distance: tuple[float, tuple[str, str]] | None = None
        self._fallbacks: set[str] = set()
        self._share = 0.0

    def update(self, model: FleetModel, wall_s: float) -> TestVerdict | None:
        """A verdict once, when a test has ended."""
        status = model.test
        running = status.get("state") == "running"
        now = (status.get("test"), status.get("index"), status.get("round")) if running else None
        verdict = None
        if self._running is not None and now != self._running:
            verdict = self._verdict(str(self._running[0]), model)
        if now != self._running:
            self._running = now
            self._reset()
        if now is not None:
            self._record(model, wall_s)
        return verdict

    def _record(self, model: FleetModel, wall_s: float) -> None:
        for seer, vehicle in model.vehicles.items():
            for view in (model.neighbour(seer, other, wall_s) for other in model.vehicles if other != seer):
                if view.near_allowed:
                    continue
                pair = (seer, view.other)
                if view.must_see and view.angle_deg is not None:
                    self._angle = max(self._angle or (-1.0, pair), (view.angle_deg, pair))
                if view.distance_m is not None:
                    self._distance = min(self._distance or (1e9, pair), (view.distance_m, pair))
            mode = vehicle.status.values.get("mode") if vehicle.status else None
            if mode not in (None, FOLLOWING):
                self._fallbacks.add(seer)
        duration_s = float(model.test.get("duration_s") or 0.0)
        self._share = float(model.test.get("t_s") or 0.0) / duration_s if duration_s else 0.0

    def _verdict(self, test: str, model: FleetModel) -> TestVerdict:
        ended = model.test.get("state") in ("done", "gliding", "waiting", "running") and self._share > COMPLETE
        angle, distance = self._angle, self._distance
        return TestVerdict(
            test, ended, angle[0] if angle else None, distance[0] if distance else None,
            angle[1] if angle else None, distance[1] if distance else None, frozenset(self._fallbacks), model.limits,
        )  # fmt: skip
