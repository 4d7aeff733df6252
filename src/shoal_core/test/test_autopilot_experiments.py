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
from shoal.reports import autopilot_page as page
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
    """In every column of Table 5.1's form, against a stand-in that settles as the thesis says of its tank."""
    columns = experiments.old_and_new(ROV, (2.0, 2.5, 3.0, 3.5, 4.0, 4.5))
    olds, settling = [c.old for c in columns], [c.tank_settling_s for c in columns]
    assert olds == sorted(olds, reverse=True)
    assert all(c.new <= 0.06 and c.old >= 3 * c.new for c in columns), columns
    assert settling == sorted(settling, reverse=True), "the tank's settling had no jump"


def test_mixers_are_selectable_and_the_heuristic_one_swings() -> None:
    """Square-law thrust and a dead zone in the loop (research: 14 to 26 % instead of 5)."""
    bounded, quantitative, heuristic = (
        experiments.step(ROV, experiments.Setup(mixer=name), 3.0, 6.0)
        for name in ("bounded", "quantitative", "heuristic")
    )
    assert quantitative.overshoot == pytest.approx(bounded.overshoot, abs=0.01)
    assert heuristic.overshoot > 2 * bounded.overshoot and heuristic.settling_s > bounded.settling_s


def test_the_report_has_steps_bode_and_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a short dive and few points: what the numbers are is tested above."""
    monkeypatch.setattr(page, "SWEEP", (3.0, 3.25))
    monkeypatch.setattr(page, "AT_RADPS", (2.0, 4.0))
    short = tmp_path / "dive.csv"
    short.write_text("\n".join([",".join(COLUMNS), *[f"{k},0,{k},{2 * k},0.1,0,0" for k in range(5)]]))
    file = tmp_path / "page.html"
    found = CliRunner().invoke(app, ["autopilot", "report", "--course", str(short), "--out", str(file)])
    text = file.read_text(encoding="utf-8")
    assert found.exit_code == 0 and text.count("data:image/png") == 3
    for words in ("overshoot inside ±5 %", "63.8 / 3.7", "Frequency response", "calibration"):
        assert words in text


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
    assert runner.invoke(app, ["autopilot", "step", "--mixer", "blender"]).exit_code == 2
