"""Places in formations: geometry, best assignment against brute force, motion against finite differences."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from shoal.errors import ShoalError
from shoal.guidance.formation import Formation, Placement
from shoal.guidance.paths import preview, standard_path
from shoal.messages.preview import Preview

Array = NDArray[np.float64]
CENTER = np.array([3.0, -2.0, 5.0])


def fleet(count: int, seed: int = 0) -> tuple[list[str], Array]:
    rng = np.random.default_rng([seed, count])
    return [f"v{i}" for i in range(count)], CENTER + rng.normal(size=(count, 3)) * 3


def standing(headings_rad: Array | None = None) -> Preview:
    """A common point at rest."""
    return Preview(np.array([0.0]), CENTER[None], np.zeros((1, 3)), headings_rad)


def places(placement: Placement, names: list[str], common: Preview | None = None) -> Array:
    return np.array([placement.setpoint(n, common or standing()).positions_m[0] for n in names])


def pair_distances(points: Array) -> Array:
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    return np.asarray(gaps[np.triu_indices(len(points), 1)])


FORMATIONS = {
    "point": Formation(spacing_m=2.2),
    "ring": Formation(kind="ring", radius_m=5.0),
    "line": Formation(kind="line", spacing_m=2.5, line_deg=30),
}


@pytest.mark.parametrize("kind", FORMATIONS)
@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_centroid_is_the_common_point_and_spacing_is_kept(kind: str, count: int) -> None:
    names, at = fleet(count)
    formation = FORMATIONS[kind]
    own = places(formation.assign(names, at, CENTER), names)
    assert np.allclose(own.mean(axis=0), CENTER)
    assert np.allclose(own[:, 2], CENTER[2])
    nearest = np.min(pair_distances(own))
    assert nearest >= formation.spacing_m - 1e-9
    if kind != "ring":
        assert nearest == pytest.approx(formation.spacing_m)


def test_two_take_the_sides_they_are_on() -> None:
    at = CENTER + np.array([[4.0, 3.0, 1.0], [0.0, 0.0, -1.0]])
    placement = Formation(spacing_m=2.0).assign(["a", "b"], at, CENTER)
    assert np.allclose(places(placement, ["a", "b"]) - CENTER, [[0.8, 0.6, 0], [-0.8, -0.6, 0]])
    bearing = np.arctan2(0.6, 0.8)
    a, b = (placement.setpoint(n, standing()).headings_rad for n in "ab")
    assert a is not None and b is not None
    assert np.cos(a - bearing)[0] == pytest.approx(-1) and np.cos(b - bearing)[0] == pytest.approx(1)  # face to face


@pytest.mark.parametrize("count", [2, 3, 6])
def test_all_at_one_place_is_no_trouble(count: int) -> None:
    names = [f"v{i}" for i in range(count)]
    first = Formation().assign(names, np.tile(CENTER, (count, 1)), CENTER)
    again = Formation().assign(names[::-1], np.tile(CENTER, (count, 1)), CENTER)
    assert np.min(pair_distances(places(first, names))) == pytest.approx(2.0)
    assert np.array_equal(places(first, names), places(again, names))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", FORMATIONS)
def test_assignment_is_the_best_there_is(kind: str, seed: int) -> None:
    names, at = fleet(5, seed)
    own = places(FORMATIONS[kind].assign(names, at, CENTER), names)
    turns = (
        np.linspace(0, 2 * np.pi, 361) if kind != "line" else [0.0]
    )  # one degree is fine enough to find a better one
    flat, corners = (at - CENTER)[:, :2] @ [1, 1j], (own - CENTER)[:, :2] @ [1, 1j]
    travel = np.sum(abs(flat - corners) ** 2)
    for order in permutations(range(5)):
        turned = np.outer(np.exp(1j * np.asarray(turns)), corners[list(order)])
        assert np.min(np.sum(abs(flat - turned) ** 2, axis=1)) >= travel - 1e-9


@pytest.mark.parametrize("kind", FORMATIONS)
def test_order_of_names_does_not_matter(kind: str) -> None:
    names, at = fleet(6)
    shuffled = np.random.default_rng(5).permutation(6)
    one = FORMATIONS[kind].assign(names, at, CENTER)
    other = FORMATIONS[kind].assign([names[i] for i in shuffled], at[shuffled], CENTER)
    assert np.array_equal(places(one, names), places(other, names))
    assert one.order == other.order


@pytest.mark.parametrize("kind", ["point", "ring"])
@pytest.mark.parametrize("yaw_rad", [0.0, 0.7])
def test_around_the_middle_all_face_it(kind: str, yaw_rad: float) -> None:
    names, at = fleet(5)
    placement = FORMATIONS[kind].assign(names, at, CENTER, yaw_rad=yaw_rad)
    for name in names:
        own = placement.setpoint(name, standing())
        assert own.headings_rad is not None
        inward = CENTER - own.positions_m[0]
        facing = np.array([np.cos(own.headings_rad[0]), np.sin(own.headings_rad[0]), 0.0])
        assert facing @ inward == pytest.approx(np.linalg.norm(inward))
    steps = np.diff([np.arctan2(*(p - CENTER)[1::-1]) for p in places(placement, list(placement.order))]) % (2 * np.pi)
    assert np.allclose(steps, 2 * np.pi / 5)  # `order` goes around, one place at a time


def test_assignment_does_not_depend_on_the_yaw_it_is_made_at() -> None:
    names, at = fleet(4)
    for formation in (FORMATIONS["point"], FORMATIONS["ring"]):
        straight, turned = (places(formation.assign(names, at, CENTER, yaw_rad=y), names) for y in (0.0, 1.1))
        assert np.allclose(straight, turned)


def test_line_and_offsets_stand_as_given() -> None:
    names = ["a", "b", "c"]
    at = CENTER + np.array([[0, 5.0, 0], [0, -5.0, 0], [0, 0, 0]])
    line = Formation(kind="line", spacing_m=3.0).assign(names, at, CENTER)
    assert np.allclose(places(line, names) - CENTER, [[0, 3, 0], [0, -3, 0], [0, 0, 0]], atol=1e-12)
    assert line.order == ("b", "c", "a") and line.setpoint("a", standing()).headings_rad is None
    wish = {"a": (1.0, 2.0, -1.0), "b": (0.0, 0.0, 3.0), "c": (-4.0, 0.0, 0.0)}
    free = Formation(kind="offsets", offsets_m=wish, heading_deg=90).assign(names, at, CENTER)
    assert np.allclose(places(free, names) - CENTER, list(wish.values()))
    quarter = places(free, names, standing(np.array([np.pi / 2]))) - CENTER
    assert np.allclose(quarter, [[-2, 1, -1], [0, 0, 3], [0, -4, 0]])
    headings = free.setpoint("a", standing(np.array([0.5]))).headings_rad
    assert headings is not None and headings[0] == pytest.approx(np.pi / 2 + 0.5)


@pytest.mark.parametrize(
    "radius",
    [((0.0, 6.0), (20.0, 3.0)), lambda t: 4 + np.sin(0.3 * t)],
    ids=["schedule", "callable"],
)
def test_velocities_fit_positions_while_everything_moves(radius: object) -> None:
    names, at = fleet(3)
    placement = Formation(kind="ring", radius_m=radius).assign(names, at, CENTER)  # type: ignore[arg-type]
    path, step_s = standard_path("torus"), 0.05
    common = preview(path, 5.0, np.arange(0, 4, step_s))
    yaw = 0.4 + 0.3 * common.times_s + 0.02 * common.times_s**2  # passes half a turn, where angles wrap
    turning = Preview(common.times_s, common.positions_m, common.velocities_mps, (yaw + np.pi) % (2 * np.pi) - np.pi)
    assert turning.headings_rad is not None and np.min(np.diff(turning.headings_rad)) < -6
    own = placement.setpoint("v1", turning)
    slopes = (own.positions_m[2:] - own.positions_m[:-2]) / (2 * step_s)
    assert np.allclose(slopes, own.velocities_mps[1:-1], atol=1e-3)
    assert np.max(abs(own.velocities_mps - common.velocities_mps)) > 1.0  # it does turn
    assert own.headings_rad is not None and np.allclose(np.diff(own.headings_rad), np.diff(yaw))


def test_ring_closes_in_by_its_schedule() -> None:
    names, at = fleet(4)
    placement = Formation(kind="ring", radius_m=((10.0, 6.0), (20.0, 3.0))).assign(names, at, CENTER)
    times_s = np.array([0.0, 10.0, 15.0, 20.0, 30.0])
    own = placement.setpoint("v2", Preview(times_s, np.tile(CENTER, (5, 1)), np.zeros((5, 3))))
    assert np.allclose(np.linalg.norm(own.positions_m - CENTER, axis=1), [6, 6, 4.5, 3, 3])
    assert np.allclose(np.linalg.norm(own.velocities_mps, axis=1), [0, 0.3, 0.3, 0, 0])


@pytest.mark.parametrize("count", [2, 3, 6])
def test_a_ring_without_a_radius_has_the_one_that_its_spacing_needs(count: int) -> None:
    names, at = fleet(count)
    own = places(Formation(kind="ring", spacing_m=2.5).assign(names, at, CENTER), names)
    assert np.allclose(np.linalg.norm(own - CENTER, axis=1), 2.5 / (2 * np.sin(np.pi / count)))
    assert np.min(pair_distances(own)) == pytest.approx(2.5)


def test_a_change_keeps_the_rest_and_drops_what_the_new_kind_has_no_use_for() -> None:
    line = Formation(kind="line", spacing_m=2.5, line_deg=30, heading_deg=10)
    assert line.changed(spacing_m=3.0) == Formation(kind="line", spacing_m=3.0, line_deg=30, heading_deg=10)
    ring = line.changed(kind="ring")
    assert (ring.kind, ring.spacing_m, ring.heading_deg) == ("ring", 2.5, None)
    assert ring.changed(radius_m=4.0).changed(kind="point").radius_m is None
    with pytest.raises(ShoalError, match="radius_m with kind 'ring' only, not kind 'line'"):
        line.changed(radius_m=4.0)


def test_one_vehicle_is_the_common_point() -> None:
    placement = Formation().assign(["a"], CENTER[None] + 1, CENTER)
    own = placement.setpoint("a", standing())
    assert np.allclose(own.positions_m, CENTER) and own.headings_rad is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"kind": "point", "radius_m": 3.0}, "expected radius_m with kind 'ring' only, not kind 'point'"),
        ({"kind": "ring", "radius_m": float("nan")}, "radius_m"),
        ({"spacing_m": float("nan")}, "finite number"),
        ({"kind": "ring", "radius_m": -1.0}, "radius_m > 0"),
        ({"kind": "ring", "radius_m": [[0, 3], [0, 2]]}, "rising times"),
        ({"kind": "offsets"}, "expected offsets_m"),
        ({"kind": "ring", "radius_m": 3.0, "heading_deg": 0.0}, "face inward"),
        ({"kind": "star"}, "'point', 'ring'"),
        ({"spacing_m": 0.0}, "greater than 0"),
    ],
)
def test_bad_formations_are_refused(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        Formation.model_validate(settings)


def test_what_does_not_fit_the_fleet_is_refused() -> None:
    names, at = fleet(10)
    with pytest.raises(ShoalError, match=r"radius_m = 2 puts 10 vehicles 1.24 m apart; expected at least 3.24"):
        Formation(kind="ring", radius_m=((0.0, 8.0), (50.0, 2.0))).assign(names, at, CENTER)
    with pytest.raises(ShoalError, match="no 'v0'"):
        Formation(kind="offsets", offsets_m={"w": (0, 0, 0)}).assign(names, at, CENTER)
    with pytest.raises(ShoalError, match="different names"):
        Formation().assign(["a", "a"], at[:2], CENTER)
    with pytest.raises(ShoalError, match="'z' has no place; expected one of: v0"):
        Formation().assign(names, at, CENTER).setpoint("z", standing())
