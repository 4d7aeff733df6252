"""The experiments of Ng 2024: order and trend as the thesis states them, on a vehicle of its numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shoal.autopilot import experiments
from shoal.autopilot.dive import COLUMNS, load_dive
from shoal.cli import app
from shoal.errors import ShoalError
from vehicles_for_tests import shipped

ROV = shipped("ng2024")
COURSE = load_dive("pilot")


@pytest.mark.parametrize("omega", [2.0, 3.0, 4.0])
def test_unit_gain_at_the_bandwidth(omega: float) -> None:
    gain, phase = experiments.frequency(ROV, "pd", omega, omega)
    assert gain == pytest.approx(1.0, abs=0.12) and -np.pi / 2 < phase < 0


def test_the_faster_the_better_and_the_dearer() -> None:
    slow, middle, fast = (experiments.dive(ROV, COURSE, "pd", omega) for omega in (2.0, 3.0, 4.0))
    assert (slow.iae_deg_s > middle.iae_deg_s).all() and (middle.iae_deg_s > fast.iae_deg_s).all()
    assert (middle.effort > slow.effort).all()


def test_the_model_based_law_follows_a_pilot() -> None:
    live = experiments.dive(ROV, COURSE, "model", 4.0)
    ahead = experiments.dive(ROV, COURSE, "model", 4.0, preview_s=0.14)
    assert (live.rms_deg <= [2, 2, 5]).all() and (ahead.rms_deg <= [1, 1, 2.5]).all()


def test_the_old_model_is_the_worse_one() -> None:
    """Three times up to 3.5 rad/s, twice at 4.5; the tank's data are not published, a plant of our own stands in."""
    rows = experiments.old_and_new(ROV, (2.0, 3.0, 3.5, 4.5))
    olds = [old for old, _ in rows]
    assert olds == sorted(olds, reverse=True)
    assert all(old >= least * new for (old, new), least in zip(rows, (3, 3, 3, 2), strict=True))
    assert all(new <= 0.08 for _, new in rows)


def test_the_shipped_dive_is_as_described() -> None:
    times_s = np.linspace(0, 60, 1201)
    angles = np.degrees([COURSE.wanted(t).angles_rad for t in times_s])
    efforts = np.array([COURSE.effort(t) for t in times_s])
    assert COURSE.duration_s == 60 and np.abs(angles).max(axis=0) == pytest.approx([20, 35, 120], rel=0.02)
    assert np.abs(efforts).max(axis=0) == pytest.approx([0.35] * 3, abs=0.01)


@pytest.mark.parametrize(
    ("lines", "word"),
    [(["t,roll"], "t_s"), ([",".join(COLUMNS), "0,1,2"], "line 2"),
     ([",".join(COLUMNS), *["0,0,0,0,0,0,0"] * 5], "times"),
     ([",".join(COLUMNS), *[f"{k},0,0,0,2,0,0" for k in range(5)]], "efforts"), ([], "missing")],
)  # fmt: skip
def test_a_dive_that_makes_no_sense(tmp_path: Path, lines: list[str], word: str) -> None:
    path = tmp_path / "dive.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(ShoalError, match=word):
        load_dive(path)


def test_the_commands_print_tables() -> None:
    runner = CliRunner()
    found = runner.invoke(app, ["autopilot", "gains", "bluerov2_heavy", "--omega", "3"])
    assert found.exit_code == 0 and "10.08" in found.output and "2.22" in found.output
    found = runner.invoke(app, ["autopilot", "step", "--omega", "3"])
    assert found.exit_code == 0 and "4.7" in found.output
    assert runner.invoke(app, ["autopilot", "step", "--law", "pid"]).exit_code == 2
