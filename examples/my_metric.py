"""A metric of one's own: with a name, a unit and perhaps a bound it is in every verdict, row and table.

shoal simulate --metric my_metric:SPEED          (or `metrics: [my_metric:SPEED]` in a campaign file)
"""

from __future__ import annotations

import numpy as np

import shoal


def fastest(recording: shoal.Recording) -> shoal.Value:
    """The largest speed of any vehicle, with its instant and the vehicle."""
    speed = np.linalg.norm(shoal.State(recording.states).velocity_mps, axis=2)  # (T,V)
    instant, vehicle = np.unravel_index(int(np.argmax(speed)), speed.shape)
    return shoal.Value(float(speed.max()), float(recording.times_s[instant]), recording.names[int(vehicle)])


SPEED = shoal.Metric(
    "speed_max_mps",
    "m/s",
    fastest,
    shoal.Bound(1.5, "went faster than the data sheet allows"),
    label="largest speed",
    description="Of any vehicle, over ground.",
)

if __name__ == "__main__":
    run = shoal.simulate(duration_s=15.0, seed=1)
    print(shoal.summarise(run, [SPEED]).metrics["speed_max_mps"])
