"""A run with an end reports how far it is, with the extremes so far; one without an end stays quiet."""

from __future__ import annotations

import numpy as np

from shoal_dynamics.progress import ProgressLines


def fleet(distance_m: float, tilt_rad: float = 0.0) -> np.ndarray:
    states = np.zeros((2, 13))
    states[:, 3] = 1.0
    states[1, 0] = distance_m
    states[1, 3:5] = np.cos(tilt_rad / 2), np.sin(tilt_rad / 2)
    return states


def lines(progress: ProgressLines, until_s: float, wall_per_s: float = 1.0) -> list[str]:
    found = []
    for step in range(1, round(until_s / 0.05) + 1):
        t_s = step * 0.05
        states = fleet(1.5, np.radians(20.0)) if step == 100 else fleet(2.0)  # the worst instant is between two lines
        if text := progress.line(t_s, t_s * wall_per_s, states):
            found.append(text)
    return found


def test_one_line_every_ten_seconds_with_the_worst_so_far() -> None:
    found = lines(ProgressLines(60.0), 60.0)
    assert [text.split(",")[0] for text in found] == [f"{t} of 60 s" for t in (10, 20, 30, 40, 50, 60)]
    assert all("smallest distance so far 1.50 m, largest tilt so far 20.0°" in text for text in found)


def test_a_fast_run_does_not_flood_the_log() -> None:
    assert len(lines(ProgressLines(200.0), 200.0, wall_per_s=0.05)) <= 3  # 10 s of wall time


def test_no_end_no_progress_and_one_vehicle_has_no_distance() -> None:
    assert lines(ProgressLines(0.0), 60.0) == []
    text = ProgressLines(20.0).line(10.0, 10.0, fleet(2.0)[:1])
    assert text is not None and "distance" not in text
