"""When to step: on odometry, a control period apart; by the clock when odometry stays away."""

from __future__ import annotations

EARLY = 0.1  # of a period; jitter of stamps must not cost a whole period
LATE = 1.5  # periods without a step, after which the clock takes over
SLOW = 1.0  # the same once it has: odometry slower than the control period must not slow down control


class StepTrigger:
    """Steps stay on a grid of the period, so that odometry of any higher rate gives the right mean rate."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self.last_s: float | None = None
        self._due_s = 0.0
        self._by_clock = False

    def due(self, t_s: float) -> bool:
        """Odometry has come: step now?"""
        return self.last_s is None or t_s >= self._due_s - EARLY * self.period_s

    def overdue(self, t_s: float) -> bool:
        """The clock asks: has odometry stayed away?"""
        patience = SLOW if self._by_clock else LATE
        return self.last_s is None or t_s - self.last_s >= patience * self.period_s - 1e-9

    def stepped(self, t_s: float, by_clock: bool = False) -> None:
        """A step was made, on odometry or because the clock took over."""
        on_grid = self._due_s + self.period_s if self.last_s is not None else t_s + self.period_s
        self.last_s, self._by_clock = t_s, by_clock
        self._due_s = max(on_grid, t_s + 0.5 * self.period_s)  # the grid moves on with odometry that is late
