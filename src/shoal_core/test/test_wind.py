"""Wind: a push on every hull that floats; fleets below the surface refuse it."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.messages.state import TWIST, State
from shoal.simulation.conditions import Condition, Environment, load_condition
from shoal.simulation.world import World
from shoal.vehicles.parameters import mass_matrix

IDEAL = load_condition("ideal")
WIND_N = (0.03, 0.04)


def blown(fleet_name: str, heading_rad: float, condition: Condition) -> tuple[World, np.ndarray]:
    """After a tenth of a second without thrust; momentum (6,) of the first vehicle in its own axes."""
    fleet = load_fleet(fleet_name)
    world = World(fleet, {fleet.names[0]: State.at_rest((0.0, 0.0, 0.0), heading_rad)}, condition, 0, 0.05, 30.0)
    for _ in range(2):
        world.step(0.05)
    return world, mass_matrix(world.plant.vehicles[0].vehicle) @ world.states[0, TWIST]


@pytest.mark.parametrize(("fleet", "hulls"), [("vessel", 1), ("vessels_3x1", 3)])
def test_every_hull_is_pushed_in_the_winds_direction(fleet: str, hulls: int) -> None:
    windy = IDEAL.model_copy(update={"environment": Environment(wind_N=WIND_N)})
    for heading in (0.0, 1.0):
        _, momentum = blown(fleet, heading, windy)
        c, s = np.cos(heading), np.sin(heading)
        own = np.array([c * WIND_N[0] + s * WIND_N[1], c * WIND_N[1] - s * WIND_N[0]])
        assert momentum[:2] == pytest.approx(hulls * 0.1 * own, rel=0.05)  # but for a tenth of a second of drag
        assert abs(momentum[5]) < 1e-3  # an even row is not turned
    _, still = blown(fleet, 0.0, IDEAL)
    assert not still[:2].any()


def test_nobody_below_the_surface_feels_wind() -> None:
    windy = IDEAL.model_copy(update={"environment": Environment(wind_N=WIND_N)})
    with pytest.raises(ShoalError, match=r"environment.wind_N = .* none of them floats; expected no wind"):
        blown("one", 0.0, windy)
