"""Which neighbours the optimisation looks at, and as which numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.control.base import Neighbours
from shoal.control.nmpc.nmpc import Others
from shoal.messages.directive import ALONE, Partner
from shoal.messages.limits import Limits

Array = NDArray[np.float64]


def choose(known: Neighbours, own_m: Array, must_see: frozenset[str], most: int) -> Neighbours:
    """Those that count: first the ones that must be seen, then the nearest over the horizon."""
    if len(known.names) < 2:
        return known
    gap = known.positions_m - own_m
    nearest = np.einsum("vmi,vmi->vm", gap, gap).min(axis=1).tolist()
    ranks = [(name not in must_see, distance) for name, distance in zip(known.names, nearest, strict=True)]
    best = sorted(range(len(ranks)), key=ranks.__getitem__)[:most]
    names = tuple(known.names[i] for i in best)
    return Neighbours(names, known.ages_s[best], known.positions_m[best], known.margins_m[best])


def arrange(
    chosen: Neighbours,
    must_see: frozenset[str],
    most: int,
    points: int,
    limits: Limits,
    partners: Mapping[str, Partner] = ALONE,
) -> Others:
    """The arrays of the optimisation, unused places parked far away."""
    others = Others.none(most, points)
    count = len(chosen.names)
    others.positions_m[:count] = chosen.positions_m
    others.soft_m[:count] = (limits.distance_soft_m + chosen.margins_m)[:, None]
    others.hard_m[:count] = (limits.distance_hard_m + chosen.margins_m)[:, None]
    others.seen[:count] = [name in must_see for name in chosen.names]
    for j, name in enumerate(chosen.names):
        if (partner := partners.get(name)) is not None:
            others.soft_m[j], others.hard_m[j] = partner.soft_m, partner.hard_m
            others.seen[j] = partner.view is not None
    return others
