"""What vehicles believe of their timing a second after the start, against the plant's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from closed_loop import changed
from shoal.evaluation.metrics import find_metric, summarise
from shoal.recordings.parquet import read_parquet, write_parquet
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, build_run

ERROR, SHARE = find_metric("timing_error_s"), find_metric("timing_known_share")


def flown(**condition: object) -> tuple[Recording, np.ndarray]:
    """A second and a half, with the believed totals (V,) at one second."""
    run = build_run(RunSpec("circle", "2", changed("default", **condition), 5, "nmpc", duration_s=1.5))
    believed = np.zeros(2)
    for k, _ in enumerate(run.simulator.ticks()):
        if k == 20:
            last = [r.last.health for r in run.simulator.runtimes.values() if r.last is not None]
            believed = np.array([(h.thruster_lag_s or 0.0) + (h.actuation_delay_s or 0.0) for h in last])
    return run.recording(), believed


def test_against_the_plant(tmp_path: Path) -> None:
    recording, believed_s = flown(plant={"thrusters": {"lag": {"replace": 0.2}}}, control_delay_periods=3)
    found, share = ERROR(recording), SHARE(recording)
    assert found is not None and share is not None
    errors_s = believed_s - 0.35
    assert abs(found.number) == pytest.approx(np.abs(errors_s).max())
    assert share.number == pytest.approx(np.mean(np.abs(errors_s) < 0.0751))
    assert {"timing_error_s", "timing_known_share"} <= summarise(recording).metrics.keys()
    write_parquet(recording, tmp_path)
    read = read_parquet(tmp_path)
    assert read.timing_error_s is not None and recording.timing_error_s is not None
    np.testing.assert_array_equal(read.timing_error_s, recording.timing_error_s)


def test_the_share_counts_vehicles_within_75_ms() -> None:
    recording, _ = flown()
    errors_s = np.zeros((len(recording.times_s), 2))
    errors_s[20:] = -0.1, 0.05
    made = replace(recording, timing_error_s=errors_s)
    share, largest = SHARE(made), ERROR(made)
    assert share is not None and share.number == 0.5
    assert largest is not None and (largest.number, largest.subject) == (-0.1, recording.names[0])


def test_where_it_does_not_apply() -> None:
    recording, _ = flown(sensors={"stamp_offset_s": -0.1})
    assert ERROR(recording) is None and SHARE(recording) is None
    assert ERROR(replace(recording, timing_error_s=None)) is None
    with pytest.raises(ValueError, match="timing_error_s"):
        replace(recording, timing_error_s=np.zeros((3, 2)))
