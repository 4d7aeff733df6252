"""What six axes cost the fleet: the simulator's run with each command sent through RC values, mixer and T200."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.ardusub import mixer
from shoal.ardusub.axis_map import AxisMap
from shoal.evaluation.metrics import summarise
from shoal.messages.joining import Ownership
from shoal.simulation.world import World
from shoal.tasks.run import RunSpec, simulate
from shoal.vehicles.curves import load_table
from shoal.vehicles.description import load_vehicle

pytestmark = pytest.mark.slow
SPEC = RunSpec("circle", "fosso2023_two", "current_05_waves", 0, duration_s=25.0)
Array = NDArray[np.float64]


def path_error_m(monkeypatch: pytest.MonkeyPatch, true_V: float | None) -> float:
    """Rms; None: direct. The bridge believes 16 V."""
    straight = World.command
    if true_V is not None:
        axis_map, truth = (
            AxisMap(load_vehicle("bluerov2_heavy", "wu2018"), voltage_V=16.0),
            load_table("t200").at(true_V),
        )

        def through(
            self: World, name: str, thrust_N: Array, answers_s: float, arrived_s: float, by: Ownership | None = None
        ) -> None:
            widths = np.array(mixer.outputs_us(axis_map.rc(thrust_N)), dtype=float)
            straight(self, name, axis_map.layout.to_vehicle(truth.force_N(widths)), answers_s, arrived_s, by)

        monkeypatch.setattr(World, "command", through)
    summary = summarise(simulate(SPEC))
    monkeypatch.setattr(World, "command", straight)
    assert not summary.failed, summary.failure
    value = summary.value("setpoint_error_rms_m")
    assert value is not None
    return value


def test_path_error_through_the_axes_beside_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    direct, right, weak = (path_error_m(monkeypatch, v) for v in (None, 16.0, 14.0))
    print(f"direct {direct:.4f} m, through the axes {right / direct:.3f} times, 2 V lower {weak / direct:.3f} times")
    assert right <= 1.15 * direct
    assert weak <= 1.5 * direct
