"""Dynamic time warping of one series onto another, within a window and a slope; many pairs at a time.

Nielsen 2018, (6.1) and (6.2): local cost (xᵢ − yⱼ)², the cheapest monotone path from corner to corner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Warped:
    """Of each pair."""

    distance: Array  # (B,) root of the path's summed squares
    mean: Array  # (B,) mean |xᵢ − yⱼ| along the path


def warp(x: Array, y: Array, window: int | None = None, slope: bool = False) -> Warped:
    """Series (N,) or (B,N) against (M,) or (B,M).

    `window`: most samples between partners. `slope`: no two steps in a row along one series only (Sakoe and Chiba's
    P = 1), so that a stretch is at most doubled or halved.
    """
    x, y = np.atleast_2d(x), np.atleast_2d(y)
    b, n, m = x.shape[0], x.shape[1], y.shape[1]
    reach = max(window if window is not None else max(n, m), abs(n - m))
    # Squares, absolute differences and steps so far, of the cheapest way into each cell.
    total = np.full((n + 1, m + 1, b), np.inf)
    absolute, steps = np.zeros((n + 1, m + 1, b)), np.zeros((n + 1, m + 1, b))
    total[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(max(1, i - reach), min(m, i + reach) + 1):
            ways = [(i - 1, j - 1, [(i, j)])]
            if not slope:
                ways += [(i - 1, j, [(i, j)]), (i, j - 1, [(i, j)])]
            else:
                if j >= 2:
                    ways.append((i - 1, j - 2, [(i, j - 1), (i, j)]))
                if i >= 2:
                    ways.append((i - 2, j - 1, [(i - 1, j), (i, j)]))
            _take_cheapest(x, y, ways, (i, j), (total, absolute, steps))
    return Warped(np.sqrt(total[n, m]), absolute[n, m] / np.maximum(steps[n, m], 1))


def _take_cheapest(
    x: Array,
    y: Array,
    ways: list[tuple[int, int, list[tuple[int, int]]]],
    cell: tuple[int, int],
    sums: tuple[Array, Array, Array],
) -> None:
    total, absolute, steps = sums
    best = np.full(x.shape[0], np.inf)
    for i, j, passed in ways:
        off = [x[:, k - 1] - y[:, q - 1] for k, q in passed]
        here = total[i, j] + sum(o**2 for o in off)
        better = here < best
        best = np.where(better, here, best)
        absolute[cell] = np.where(better, absolute[i, j] + sum(np.abs(o) for o in off), absolute[cell])
        steps[cell] = np.where(better, steps[i, j] + len(passed), steps[cell])
    total[cell] = best
