"""Whatever comes as odometry, a step answers with thrust that is finite and within the limits."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.fleet.agent_settings import Timing
from shoal.messages.directive import Directive
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE
from swim import VEHICLE
from test_agent import agent_of, level

BAD = (np.nan, np.inf, -np.inf, 0.0, 1e-300, 1e12, -1e300)


def hold() -> Directive:
    return Directive("hold", Preview(np.zeros(1), np.array([[0.0, 0.0, 5.0]]), np.zeros((1, 3)), np.zeros(1)))


def drawn(rng: np.random.Generator, t_s: float) -> Odometry | None:
    """None, noise of any size, single bad numbers, stamps of any age."""
    kind = rng.integers(0, 6)
    if kind == 0:
        return None
    state = level(0.0, 0.0, 5.0) + rng.normal(size=13) * 10.0 ** rng.integers(-3, 2)
    if kind == 1:
        state[rng.integers(0, 13)] = rng.choice(BAD)
    elif kind == 2:
        state = rng.choice(BAD, size=13)
    with np.errstate(all="ignore"):
        if kind != 2:
            state[ATTITUDE] /= np.linalg.norm(state[ATTITUDE])
    stamp_s = t_s + rng.choice([0.0, -0.01, -0.3, 0.3, -5.0, 5.0, np.nan, np.inf], p=[0.65] + 7 * [0.05])
    return Odometry(float(stamp_s), state)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("period_s", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("lag_s", [0.0, 0.15, 1.0])
def test_any_odometry(period_s: float, lag_s: float) -> None:
    rng = np.random.default_rng([7, round(1000 * period_s), round(1000 * lag_s)])
    agent = agent_of(Timing(period_s, 0.05, lag_s))
    t_s = 0.0
    for _ in range(150):
        t_s += period_s
        command = agent.step(t_s, drawn(rng, t_s), hold(), {})
        assert np.isfinite(command.thrust_N).all()
        assert (command.thrust_N <= VEHICLE.input_max_N + 1e-9).all()
        assert (command.thrust_N >= VEHICLE.input_min_N - 1e-9).all()
        assert np.isfinite(command.plan.positions_m).all()
