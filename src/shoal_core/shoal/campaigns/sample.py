"""A sample of a campaign's runs, the same for everybody who draws it again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np


def drawn(kinds: Sequence[Hashable], count: int, seed: int) -> list[int]:
    """Places of `count` runs, each at most once; every kind equally often, as far as it has as many.

    A larger sample of the same seed has the smaller one in it.
    """
    rng = np.random.default_rng(seed)
    rounds: list[tuple[int, float, int]] = []  # how many of its kind come before it, then by chance
    seen: dict[Hashable, int] = {}
    for place in rng.permutation(len(kinds)).tolist():
        before = seen.setdefault(kinds[place], 0)
        seen[kinds[place]] = before + 1
        rounds.append((before, float(rng.random()), place))
    return [place for _, _, place in sorted(rounds)[:count]]
