"""Graphs and prices, against closed forms: Laplacian, the star of Example 7.1, the centralised optimum."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.docking.communication import Exchange
from shoal.docking.dual_decomposition import DualDecomposition, EqualCopies, Quadratic
from shoal.docking.graph import Graph
from shoal.errors import ShoalError

Array = NDArray[np.float64]
STAR = Graph(("v1", "v2", "v3", "v4"), (("v1", "v2"), ("v2", "v3"), ("v4", "v2")))
CHAIN = Graph(("1", "2", "3"), (("1", "2"), ("2", "3")))


def test_star_of_example_7_1() -> None:
    assert STAR.neighbours("v2") == ("v1", "v3", "v4")
    assert STAR.edges_of("v2") == STAR.edges
    assert STAR.neighbours("v1") == ("v2",)
    assert STAR.edges_of("v1") == (("v1", "v2"),)


def test_laplacian_is_degrees_minus_adjacency_whatever_the_orientation() -> None:
    adjacency = np.array([[0, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 0], [0, 1, 0, 0]], dtype=float)
    expected = np.diag(adjacency.sum(axis=1)) - adjacency
    np.testing.assert_array_equal(STAR.laplacian, expected)
    turned = Graph(STAR.nodes, tuple((head, tail) for tail, head in STAR.edges))
    np.testing.assert_array_equal(turned.laplacian, expected)
    np.testing.assert_array_equal(turned.incidence, -STAR.incidence)


def test_connected_or_not() -> None:
    assert STAR.is_connected
    assert not Graph(("a", "b", "c"), (("a", "b"),)).is_connected


@pytest.mark.parametrize("edges", [(("a", "a"),), (("a", "x"),), (("a", "b"), ("b", "a"))])
def test_edges_that_make_no_graph_are_refused(edges: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(ShoalError, match=r"graph: edge .*; expected"):
        Graph(("a", "b"), edges)


def positive(rng: np.random.Generator, size: int) -> Array:
    a = rng.normal(size=(size, size))
    return np.asarray(a @ a.T + np.eye(size))


def example(step: float) -> tuple[DualDecomposition, dict[str, Quadratic]]:
    """J1(x1,y) + J2(x2,y,z) + J3(x3,z) of section 7.4 with copies y1, y2, z2, z3 (7.26–7.31)."""
    rng = np.random.default_rng(5)
    problems = {n: Quadratic(positive(rng, k), rng.normal(size=k)) for n, k in (("1", 2), ("2", 3), ("3", 2))}
    y = EqualCopies(("1", "2"), {"1": np.array([[0.0, 1]]), "2": np.array([[0.0, -1, 0]])}, step)
    z = EqualCopies(("2", "3"), {"2": np.array([[0.0, 0, 1]]), "3": np.array([[0.0, -1]])}, step)
    return DualDecomposition(CHAIN, (y, z)), problems


def central(problems: dict[str, Quadratic]) -> Array:
    """x1, y, x2, z, x3 of the sum, by its normal equations: no copies, no prices."""
    pick = {"1": np.eye(5)[[0, 1]], "2": np.eye(5)[[2, 1, 3]], "3": np.eye(5)[[4, 3]]}
    hessian = sum(pick[n].T @ p.hessian @ pick[n] for n, p in problems.items())
    gradient = sum(pick[n].T @ p.gradient for n, p in problems.items())
    return np.asarray(-np.linalg.solve(hessian, gradient))


def start(problems: dict[str, Quadratic]) -> dict[str, Array]:
    return {n: np.zeros(len(p.gradient)) for n, p in problems.items()}


def test_prices_lead_to_the_centralised_optimum() -> None:
    dual, problems = example(0.7)
    found = dual.iterate(problems, start(problems), 400)
    x1, y, x2, z, x3 = central(problems)
    np.testing.assert_allclose(found["1"], [x1, y], atol=1e-6)
    np.testing.assert_allclose(found["2"], [x2, y, z], atol=1e-6)
    np.testing.assert_allclose(found["3"], [x3, z], atol=1e-6)


def test_more_inner_iterations_leave_a_smaller_violation() -> None:
    left = []
    for count in (1, 2, 4, 8, 15):
        dual, problems = example(0.7)
        left.append(dual.violation(dual.iterate(problems, start(problems), count)))
    assert all(later < 0.8 * sooner for sooner, later in pairwise(left)), left


def test_prices_are_kept_for_the_next_call() -> None:
    """The warm start: two calls of 20 iterations are one of 40."""
    once, problems = example(0.7)
    twice, _ = example(0.7)
    a = once.iterate(problems, start(problems), 40)
    b = twice.iterate(problems, twice.iterate(problems, start(problems), 20), 20)
    np.testing.assert_allclose(a["2"], b["2"], atol=1e-12)


def test_price_of_an_inequality_falls_again_and_never_below_zero() -> None:
    """x_a ≤ x_b with J = ½(x_a − 1)² + ½ x_b²: at the optimum both are ½ at the price ½; once free, the price is 0."""
    dual = DualDecomposition(
        Graph(("a", "b"), (("a", "b"),)),
        (EqualCopies(("a", "b"), {"a": np.array([[1.0]]), "b": np.array([[-1.0]])}, 0.4, inequality=True),),
    )
    wants = {"a": Quadratic(np.eye(1), np.array([-1.0])), "b": Quadratic(np.eye(1), np.zeros(1))}
    found = dual.iterate(wants, {"a": np.zeros(1), "b": np.zeros(1)}, 100)
    np.testing.assert_allclose([found["a"][0], found["b"][0], dual.prices[0][0]], 0.5, atol=1e-9)
    free = wants | {"a": Quadratic(np.eye(1), np.array([3.0]))}
    found = dual.iterate(free, found, 100)
    np.testing.assert_allclose([found["a"][0], found["b"][0], dual.prices[0][0]], [-3.0, 0.0, 0.0], atol=1e-9)
    assert dual.violation(found) == 0.0


def test_coupling_needs_an_edge() -> None:
    with pytest.raises(ShoalError, match="coupling of 1 and 3: no edge between them; expected"):
        DualDecomposition(CHAIN, (EqualCopies(("1", "3"), {"1": np.eye(1), "3": -np.eye(1)}, 1.0),))


def test_traffic_of_table_8_1() -> None:
    assert Exchange().bits_per_s == pytest.approx(1.728e6)
    assert Exchange(numbers=9, bits_per_number=64).bits_per_s == pytest.approx(5.184e6)  # all states and θ in float64
