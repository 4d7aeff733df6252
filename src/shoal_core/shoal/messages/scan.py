"""What a vehicle sees of the others: bearing and range, as one vector each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scan:
    """One look of the relative sensor; nobody in it: nobody was seen."""

    stamp_s: float
    seen_m: Mapping[str, Array]  # (3,) body FRD, from us to each of them
