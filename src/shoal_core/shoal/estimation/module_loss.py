"""A module of an assembly that gives nothing at all: one gain for all of its thrusters against what the model misses.

Its thrusters fail together, so that what is missing is no thruster's signature but the wrench that the module was asked
for: −B_m u_m, which turns and grows with the command. That is one unknown for six numbers at every look. A module
that dies while it has much to do is found within a second, by a few looks that all show just its wrench to be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FEWEST = 2  # thrusters of a module; one alone is a thruster
LOST = 0.75  # of its wrench, at least
EXPLAINED = 0.85  # of what is missing
APART = 0.15  # the next module, or a single thruster, must explain so much less
# The same of single looks. A current that sets in is no loss: all modules push against it, and each one's share of
# that is less than what is missing.
AT_ONCE, LASTING = 0.85, 3  # looks in a row
LEAVE_MORE = 3.0  # the next module, or a single thruster, must leave so many times what this one leaves
ALL_OF_IT = (0.8, 1.25)  # loss
BUSY = 3.0  # what the module was asked for, squared sigmas, beside the level that is looked into


def modules_of(names: Sequence[str]) -> dict[str, list[int]]:
    """Inputs by module, from names such as 'port/thruster1'; nothing for a vehicle that is none."""
    found: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        found.setdefault(name.rpartition("/")[0], []).append(i)
    whole = {module: inputs for module, inputs in found.items() if module and len(inputs) >= FEWEST}
    return whole if len(found) > 1 else {}


class ModuleLoss:
    """`see` each missing wrench; the module that its last second points to."""

    def __init__(self, modules: Mapping[str, Sequence[int]], signatures: Array) -> None:
        """Signatures (6,n) in sigmas per newton."""
        self.names = list(modules)
        self.inputs = [np.array(modules[name]) for name in self.names]
        self._signatures = signatures
        self.forget()

    def forget(self) -> None:
        """Evidence of before is void."""
        self._zw, self._ww = np.zeros(len(self.names)), np.zeros(len(self.names))
        self._suspect, self._count = -1, 0

    def see(self, old: float, missing: Array, felt_N: Array) -> None:
        """Missing wrench (6,) in sigmas and thrust (n,) through the same filter; `old`: weight of what was before."""
        for m, inputs in enumerate(self.inputs):
            asked = self._signatures[:, inputs] @ felt_N[inputs]
            self._zw[m] = old * self._zw[m] + (1 - old) * float(missing @ asked)
            self._ww[m] = old * self._ww[m] + (1 - old) * float(asked @ asked)

    def at_once(self, missing: Array, felt_N: Array, level: float) -> tuple[int, float]:
        """The module that the last looks, this one included, show to be dead, or -1, and the share that explains."""
        first, share = self._one_look(missing, felt_N, level) if len(self.names) > 1 else (-1, 0.0)
        self._count = self._count + 1 if first == self._suspect and first >= 0 else int(first >= 0)
        self._suspect = first
        return (first if self._count >= LASTING else -1), share

    def _one_look(self, missing: Array, felt_N: Array, level: float) -> tuple[int, float]:
        all2 = float(missing @ missing)
        if all2 < level:
            return -1, 0.0
        asked = np.array([self._signatures[:, inputs] @ felt_N[inputs] for inputs in self.inputs])  # (M,6)
        size2 = np.maximum((asked**2).sum(axis=1), 1e-9)
        loss = -(asked @ missing) / size2
        explained = np.where(loss > 0, loss**2 * size2 / all2, 0.0)
        m = int(np.argmax(explained))
        length2 = np.maximum((self._signatures**2).sum(axis=0), 1e-12)
        by_thruster = float(((missing @ self._signatures) ** 2 / length2).max()) / all2
        next_best = max(float(np.max(np.delete(explained, m), initial=0.0)), by_thruster)
        least, most = ALL_OF_IT
        alone = 1 - next_best > LEAVE_MORE * (1 - explained[m])
        clear = explained[m] > AT_ONCE and alone and size2[m] > BUSY * level
        return (m if clear and least < loss[m] < most else -1), float(explained[m])

    def found(self, all_missing: float, by_thruster: float) -> tuple[int, float]:
        """The module, or -1, and the share it explains of all that is missing, in squared sigmas.

        `by_thruster`: the same of the thruster that explains most.
        """
        if not self.names or all_missing <= 0.0:
            return -1, 0.0
        loss = np.clip(-self._zw / np.maximum(self._ww, 1e-9), 0.0, 1.0)
        explained = (-2 * loss * self._zw - loss**2 * self._ww) / all_missing
        m = int(np.argmax(explained))
        next_best = max(float(np.max(np.delete(explained, m), initial=0.0)), by_thruster / all_missing)
        clear = explained[m] > EXPLAINED and explained[m] - next_best > APART and loss[m] > LOST
        return (m if clear else -1), float(explained[m])


def test_pattern(inputs: Sequence[int], signatures: Array) -> Array:
    """(n,) of pushes: each of these takes part, and together they are felt as the strongest of them would be alone."""
    found = np.zeros(signatures.shape[1])
    if len(inputs) == 0:
        return found
    own = signatures[:, list(inputs)]
    push = np.where(np.linalg.svd(own)[2][0] >= 0, 1.0, -1.0) if len(inputs) > 1 else np.ones(1)
    size = float(np.linalg.norm(own @ push)) / max(float(np.linalg.norm(own, axis=0).max()), 1e-12)
    found[list(inputs)] = push / max(size, 1.0)
    return found
