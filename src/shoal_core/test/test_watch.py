"""What a controller that still steers warns of: by hand, and in whole runs of conditions that ask too much."""

from __future__ import annotations

import numpy as np

from shoal.experiments.metrics import summarise
from shoal.fleet.watch import LIMIT, MODEL, Watch, WatchSettings, late
from shoal.simulation.run import simulate
from shoal.simulation.scenario import RunSpec

CALM = np.zeros(6)


def test_each_reason_has_its_sentence() -> None:
    def said(wrench: np.ndarray = CALM, ages_s: dict[str, float] | None = None, slack: float = 0.0) -> tuple[str, ...]:
        return Watch(WatchSettings()).look(0.0, wrench, ages_s or {}, slack)

    assert said() == ()
    assert said(np.array([40.0, 0, 40.0, 14.0, 0, 0])) == ()
    assert said(np.array([50.0, 0, 40.0, 0, 0, 0])) == (MODEL,)  # 64 N
    assert said(np.array([0, 0, 0, 0, 16.0, 0])) == (MODEL,)
    assert said(ages_s={"a": 1.9, "b": 2.1}) == (late("b"),)
    assert said(slack=0.05) == (LIMIT,)


def test_what_comes_and_goes_is_one_piece_of_news() -> None:
    watch = Watch(WatchSettings(linger_s=1.0))
    heard = [watch.look(t / 10, CALM, {}, 0.1 * (t in (10, 15))) for t in range(40)]
    assert heard == [()] * 10 + [(LIMIT,)] * 16 + [()] * 14
    watch.look(100.0, CALM, {}, 0.1)
    assert watch.look(5.0, CALM, {}, 0.0) == ()  # the clock went back: nothing of what was said is known to hold


def warnings_in(condition: str) -> dict[str, float]:
    return summarise(simulate(RunSpec("circle", "2", condition, 0, duration_s=8.0))).warnings


def test_runs_that_ask_too_much_say_so() -> None:
    assert warnings_in("default") == {}
    assert warnings_in("mass_100kg")[MODEL] > 0.9
    # Plans of 10 s ago: nobody has one within 8 s, and the news from before the start is old after two.
    assert set(warnings_in("delay_10")) == {late("bluerov2"), late("bluerov3")}
