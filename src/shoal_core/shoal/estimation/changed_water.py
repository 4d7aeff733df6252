"""Whether a changed current explains what the model misses: a current also turns a vehicle, by the Munk moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LOOKS = 6  # the latest ones, of 0.1 s: a current that changed in their course fits none of them
ITERATIONS = 3
STEP_MPS = 1e-3  # of the numerical derivative
LARGEST_MPS = 1.5  # a greater change is no current


class ChangedWater:
    """Gauss-Newton on one change of current (NED) for the last few looks; called only when a thruster is suspected."""

    def __init__(self) -> None:
        self._looks: deque[tuple[Array, Array, Array, Array]] = deque(maxlen=LOOKS)

    def clear(self) -> None:
        self._looks.clear()

    def add(self, state: Array, current_mps: Array, missing: Array, felt_N: Array) -> None:
        """State (13,), believed current (3,), missing wrench (6,) in sigmas, thrust (n,) through the same filter."""
        self._looks.append((state.copy(), current_mps.copy(), missing, felt_N.copy()))

    def left_by_water(self, wrench: Callable[[Array, Array], Array], sudden: Array | None = None) -> float:
        """Sum of squares that no change of current explains; `wrench`: (6,) in sigmas of state and current.

        `sudden` (6,): only that, with the state of the latest look.
        """
        looks = list(self._looks) if sudden is None else [self._looks[-1]]
        missing = np.array([look[2] for look in looks]) if sudden is None else sudden[None]  # (K,6)
        base = np.array([wrench(state, current) for state, current, *_ in looks])

        def left(change: Array) -> Array:
            moved = [wrench(state, current + change) for state, current, *_ in looks]
            return np.asarray(missing - np.array(moved) + base).ravel()

        change, error = np.zeros(3), missing.ravel()
        for _ in range(ITERATIONS):
            columns = [(left(change + STEP_MPS * axis) - error) / STEP_MPS for axis in np.eye(3)]
            step = -np.linalg.lstsq(np.stack(columns, axis=1), error, rcond=None)[0]
            step *= min(1.0, LARGEST_MPS / max(float(np.linalg.norm(change + step)), 1e-9))
            for share in (1.0, 0.5, 0.25):
                tried = left(change + share * step)
                if tried @ tried < error @ error:
                    change, error = change + share * step, tried
                    break
        return float(error @ error)

    def left_by_thruster(self, index: int, signature: Array) -> float:
        """The same for one thruster of unknown gain, or stuck at an unknown force."""
        missing, felt = np.array([look[2] for look in self._looks]), np.array([look[3][index] for look in self._looks])
        along, length2 = missing @ signature, float(signature @ signature)  # (K,), per newton
        aside = float((missing**2).sum() - (along**2).sum() / length2)  # no force of this thruster explains that
        force_N = along / length2
        loss = float(np.clip(-(force_N @ felt) / max(float(felt @ felt), 1e-9), 0.0, 2.0))
        weak, stuck = force_N + loss * felt, force_N + felt
        stuck = stuck - stuck.mean()
        return aside + length2 * min(float(weak @ weak), float(stuck @ stuck))
