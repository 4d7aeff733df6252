"""References on their way from guidance to the vehicles: late or lost, as the condition says."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from shoal.messages.preview import Preview
from shoal.simulation.conditions import ReferenceLink

Item = tuple[Preview, Mapping[str, Preview]]
EDGE_S = 1e-9


class ReferenceChannel:
    """One way to each vehicle, each with its own losses."""

    def __init__(self, settings: ReferenceLink, names: Sequence[str], rng: np.random.Generator) -> None:
        self._settings, self._rng = settings, rng
        self._waiting: dict[str, deque[tuple[float, Item]]] = {name: deque() for name in names}

    def send(self, t_s: float, reference: Preview, setpoints: Mapping[str, Preview]) -> None:
        """To everybody; the same number of draws whatever the settings."""
        lost = (self._rng.random(len(self._waiting)) < self._settings.loss).tolist()
        for waiting, gone in zip(self._waiting.values(), lost, strict=True):
            if not gone:
                waiting.append((t_s + self._settings.delay_s, (reference, setpoints)))

    def arrivals(self, t_s: float, name: str) -> list[Item]:
        """What has arrived by now and was not handed out yet."""
        waiting, arrived = self._waiting[name], []
        while waiting and waiting[0][0] <= t_s + EDGE_S:
            arrived.append(waiting.popleft()[1])
        return arrived
