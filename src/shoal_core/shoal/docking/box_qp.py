"""Convex quadratic problems with bounds and priced rows, small and dense.

By a primal–dual active set, else by projected Newton steps (Bertsekas 1982).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MOST_GUESSES, MOST_ITERATIONS, TOLERANCE = 15, 60, 1e-9


@dataclass(frozen=True)
class BoxProblem:
    """min ½uᵀHu + gᵀu + ½w Σ max(0, Au + b)², lower ≤ u ≤ upper; H positive definite."""

    hessian: Array  # (n,n)
    gradient: Array  # (n,)
    lower: Array  # (n,)
    upper: Array  # (n,)
    rows: Array  # A (m,n)
    offsets: Array  # b (m,)
    weight: float

    def cost(self, u: Array) -> float:
        """The objective."""
        excess = np.maximum(self.rows @ u + self.offsets, 0.0)
        return float(0.5 * u @ self.hessian @ u + self.gradient @ u + 0.5 * self.weight * excess @ excess)

    def minimise(self, start: Array) -> Array:
        """From any start: quick where guessing the active set settles, which is nearly always."""
        found = self._by_active_set(start)
        return self._by_projection(start) if found is None else found

    def _by_active_set(self, start: Array) -> Array | None:
        """Primal–dual active set: when the set repeats itself, its point is the optimum. None: it did not settle."""
        u = start
        low, high = u < self.lower, u > self.upper
        paying = self.rows @ u + self.offsets > 0
        for _ in range(MOST_GUESSES):
            u = np.where(low, self.lower, np.where(high, self.upper, 0.0))
            rows = self.rows[paying]
            hessian = self.hessian + self.weight * (rows.T @ rows) if len(rows) else self.hessian
            linear = self.gradient + self.weight * (self.offsets[paying] @ rows)
            free = np.flatnonzero(~(low | high))
            if len(free):
                u[free] = -np.linalg.solve(hessian[np.ix_(free, free)], (hessian @ u + linear)[free])
            gradient = hessian @ u + linear
            new_low = np.where(low, gradient > 0, u < self.lower)
            new_high = np.where(high, gradient < 0, u > self.upper)
            new_paying = self.rows @ u + self.offsets > 0
            same = (new_low == low).all() and (new_high == high).all() and (new_paying == paying).all()
            if same:
                return np.asarray(u)
            low, high, paying = new_low, new_high, new_paying
        return None

    def _by_projection(self, start: Array) -> Array:
        """Projected Newton: what leaves the bounds is put back on them; slower, and always there in the end."""
        u = np.clip(start, self.lower, self.upper)
        for _ in range(MOST_ITERATIONS):
            values = self.rows @ u + self.offsets
            paying = self.rows[values > 0]
            gradient = self.hessian @ u + self.gradient + self.weight * (values[values > 0] @ paying)
            held = ((u <= self.lower) & (gradient > 0)) | ((u >= self.upper) & (gradient < 0))
            free = np.flatnonzero(~held)
            if len(free) == 0 or np.abs(gradient[free]).max() < TOLERANCE * (1 + np.abs(self.gradient).max()):
                break
            hessian = self.hessian + self.weight * (paying.T @ paying) if len(paying) else self.hessian
            step = np.zeros_like(u)
            step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            moved = self._along(u, step, gradient)
            if np.array_equal(moved, u):
                break
            u = moved
        return u

    def _along(self, u: Array, step: Array, gradient: Array) -> Array:
        """Half of the step after the other, until the cost falls enough (Armijo); `u` itself where it never does."""
        now, share = self.cost(u), 1.0
        while share > 1e-6:
            tried = np.clip(u + share * step, self.lower, self.upper)
            if self.cost(tried) <= now + 1e-4 * float(gradient @ (tried - u)):
                return np.asarray(tried)
            share /= 2
        return u
