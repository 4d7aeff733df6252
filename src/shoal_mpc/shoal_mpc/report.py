"""What a controller tells people: a level, a sentence, figures; sight and distance of each neighbour. No ROS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.monitor import late
from shoal.frames import rotation_matrix
from shoal.messages.health import Health, Mode
from shoal.messages.odometry import Odometry

Array = NDArray[np.float64]
WORDS = {
    Mode.NMPC: "following",
    Mode.SHIFTED_PLAN: "playing on the last plan",
    Mode.STATION_KEEPING: "keeping station",
    Mode.ZERO_THRUST: "zero thrust",
}


def verdict(health: Health, holding: str, gone: Sequence[str]) -> tuple[int, str]:
    """Level (0 good, 1 warning, 2 error) and one sentence. Without figures: a sentence that changes is news."""
    if health.mode is not Mode.NMPC:
        return (2 if health.mode is Mode.ZERO_THRUST else 1), f"{WORDS[health.mode]}: {_plain(health.reason)}"
    parts = [f"holding station: {holding}"] if holding else []
    parts += [f"{name} is gone: no plan from it" for name in gone]
    silent = {late(name) for name in gone}
    parts += [text for text in health.warnings if text not in silent]
    return (1, "; ".join(parts)) if parts else (0, WORDS[Mode.NMPC])


def values(health: Health, ages_s: dict[str, float], overruns: int) -> dict[str, object]:
    """Figures beside the sentence."""
    return {
        "mode": health.mode.name.lower(),
        "reason": health.reason,
        "solve_ms": health.solve_ms,
        "iterations": health.iterations,
        "slack": health.slack_max,
        "slack_hard": health.slack_hard_max,
        "committed": int(health.committed),
        "overrun": int(health.overrun),
        "overruns": overruns,
        **{f"age_s {name}": age for name, age in ages_s.items()},
    }


def sight(own: Odometry, other_m: Array) -> tuple[float, float]:
    """Angle (degrees) between our surge axis and the other, and the distance."""
    away = other_m - own.position_m
    distance = float(np.linalg.norm(away))
    if distance == 0.0:
        return 180.0, 0.0
    ahead = rotation_matrix(own.attitude)[:, 0]
    across = float(np.linalg.norm(np.cross(ahead, away)))
    return float(np.degrees(np.arctan2(across, float(ahead @ away)))), distance


def _plain(reason: str) -> str:
    """`odometry is 0.61 s old, …` → `odometry is old`."""
    if "s old" in reason:
        return "odometry is old"
    if "solver took" in reason:
        return "solver missed its deadline"
    return reason
