"""Each vehicle's own clock: what its runtime lives by, its odometry and its plans are stamped with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.errors import ShoalError
from shoal.messages.odometry import Odometry
from shoal.simulation.conditions import Clocks


class VehicleClocks:
    """True time to a vehicle's own; guidance and the plant keep the true one."""

    def __init__(self, settings: Clocks, names: Sequence[str]) -> None:
        for key in ("offsets_s", "drifts_ppm"):
            if len(given := getattr(settings, key)) > len(names):
                raise ShoalError(
                    f"condition: clocks.{key} has {len(given)} values in a fleet of {len(names)}; "
                    f"expected at most {len(names)}"
                )
        self._offsets_s = dict(zip(names, settings.offsets_s, strict=False))
        self._rates = {name: ppm * 1e-6 for name, ppm in zip(names, settings.drifts_ppm, strict=False)}
        self._differ = any(self._offsets_s.values()) or any(self._rates.values())

    def __bool__(self) -> bool:
        """Whether any of them differs from the true time."""
        return self._differ

    def own_s(self, name: str, t_s: float) -> float:
        """That vehicle's reading at the true time."""
        if not self._differ:
            return t_s
        return t_s + self._offsets_s.get(name, 0.0) + self._rates.get(name, 0.0) * t_s

    def stamped(self, name: str, odometry: Odometry) -> Odometry:
        """As that vehicle stamps it."""
        return replace(odometry, stamp_s=self.own_s(name, odometry.stamp_s)) if self._differ else odometry
