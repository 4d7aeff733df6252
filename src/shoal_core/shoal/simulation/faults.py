"""What fails when: the same windows for plant and link."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import ShoalError
from shoal.simulation.conditions import Fault


class Faults:
    """A condition's faults, by vehicle name."""

    def __init__(self, faults: Sequence[Fault], names: Sequence[str]) -> None:
        for i, fault in enumerate(faults):
            if fault.vehicle >= len(names):
                raise ShoalError(
                    f"condition: faults.{i}.vehicle = {fault.vehicle} in a fleet of {len(names)}; "
                    f"expected 0 to {len(names) - 1}"
                )
        self._faults = [(names[fault.vehicle], fault) for fault in faults]

    def __bool__(self) -> bool:
        return bool(self._faults)

    def thrusters_dead(self, name: str, t_s: float) -> bool:
        """A vehicle held fast does not obey either."""
        return self._is(name, t_s, "thrusters_dead", "frozen")

    def frozen(self, name: str, t_s: float) -> bool:
        """Held fast where it is."""
        return self._is(name, t_s, "frozen")

    def radio_silent(self, name: str, t_s: float) -> bool:
        """Sends no plans."""
        return self._is(name, t_s, "radio_silent")

    def _is(self, name: str, t_s: float, *kinds: str) -> bool:
        return any(
            name == who and f.kind in kinds and f.from_s <= t_s and (f.to_s is None or t_s < f.to_s)
            for who, f in self._faults
        )
