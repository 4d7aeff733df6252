"""How much an exchange of predicted trajectories sends (Nielsen 2018, section 8.5)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exchange:
    """Of one vehicle. With the defaults, Table 8.1's: a pose and a consensus point for each step, in float32."""

    horizon: int = 30  # steps of a trajectory
    inner_iterations: int = 15  # exchanges per sample
    period_s: float = 0.05
    numbers: int = 6  # for each step
    bits_per_number: int = 32

    @property
    def bits_per_s(self) -> float:
        """Payload alone, without headers."""
        return self.inner_iterations * self.horizon * self.numbers * self.bits_per_number / self.period_s
