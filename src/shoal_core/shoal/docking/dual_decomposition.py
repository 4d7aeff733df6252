"""Dual decomposition on any graph (Nielsen 2018, section 7.4).

Everybody has own copies of what is shared; constraints tie the copies together and are priced instead of kept. Given
the prices each node minimises alone; the prices then follow the sub-gradient, which is the constraint's residual:
μ ← μ + γ h (7.39), projected onto ≥ 0 for inequalities. In (8.24) as printed only the gradient is projected and a
price can never fall; here the sum is, which is the standard form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.docking.graph import Edge, Graph
from shoal.errors import ShoalError

Array = NDArray[np.float64]
Solutions = Mapping[str, Array]  # of each node, (n_i,)


class LocalProblem(Protocol):
    """What one node minimises, alone."""

    def minimise(self, linear: Array) -> Array:
        """(n,) of min J(x) + linear·x."""
        ...


class Coupling(Protocol):
    """A constraint between the two ends of an edge: h(x_i, x_j) = 0, or ≤ 0."""

    @property
    def nodes(self) -> Edge:
        """Both ends."""
        ...

    @property
    def size(self) -> int:
        """Rows."""
        ...

    @property
    def step(self) -> float:
        """Of the price, γ or κ."""
        ...

    @property
    def inequality(self) -> bool:
        """Whether h ≤ 0 is enough."""
        ...

    def value(self, solutions: Solutions) -> Array:
        """h (size,)."""
        ...

    def gradients(self, solutions: Solutions) -> Mapping[str, Array]:
        """∂h/∂x of both ends, (size, n_i) each, at the solutions of the previous iteration."""
        ...


@dataclass(frozen=True)
class EqualCopies:
    """Σ A_i x_i = 0 with constant matrices (7.27–7.31)."""

    nodes: Edge
    matrices: Mapping[str, Array]  # A_{i,e} (size, n_i), with the sign of the orientation
    step: float
    inequality: bool = False

    @property
    def size(self) -> int:
        """Rows."""
        return len(self.matrices[self.nodes[0]])

    def value(self, solutions: Solutions) -> Array:
        """h (size,)."""
        a, b = self.nodes
        return np.asarray(self.matrices[a] @ solutions[a] + self.matrices[b] @ solutions[b])

    def gradients(self, solutions: Solutions) -> Mapping[str, Array]:
        """The matrices, wherever."""
        return self.matrices


class DualDecomposition:
    """Prices of all couplings; they stay from one call to the next, which is the warm start."""

    def __init__(self, graph: Graph, couplings: Sequence[Coupling]) -> None:
        for coupling in couplings:
            a, b = coupling.nodes
            if (a, b) not in graph.edges and (b, a) not in graph.edges:
                raise ShoalError(f"coupling of {a} and {b}: no edge between them; expected one of the graph's edges")
        self.graph, self._couplings = graph, tuple(couplings)
        self.prices = [np.zeros(c.size) for c in self._couplings]

    def iterate(self, problems: Mapping[str, LocalProblem], solutions: Solutions, count: int) -> dict[str, Array]:
        """`count` rounds of solving, exchanging and pricing, from the given solutions."""
        found = dict(solutions)
        for _ in range(count):
            linear = self._linear(found)
            found = {node: problems[node].minimise(linear[node]) for node in self.graph.nodes}
            for i, coupling in enumerate(self._couplings):
                price = self.prices[i] + coupling.step * coupling.value(found)
                self.prices[i] = np.maximum(price, 0.0) if coupling.inequality else price
        return found

    def violation(self, solutions: Solutions) -> float:
        """The largest residual of any coupling."""
        residuals = [np.maximum(h, 0.0) if c.inequality else np.abs(h) for c, h in self._residuals(solutions)]
        return max((float(r.max(initial=0.0)) for r in residuals), default=0.0)

    def _residuals(self, solutions: Solutions) -> list[tuple[Coupling, Array]]:
        return [(c, c.value(solutions)) for c in self._couplings]

    def _linear(self, solutions: Solutions) -> dict[str, Array]:
        """Σ μᵀ ∂h/∂x_i of each node: what is added to its own objective (7.33)."""
        linear = {node: np.zeros(len(x)) for node, x in solutions.items()}
        for coupling, price in zip(self._couplings, self.prices, strict=True):
            for node, gradient in coupling.gradients(solutions).items():
                linear[node] += price @ gradient
        return linear


@dataclass(frozen=True)
class Quadratic:
    """½ xᵀHx + gᵀx with H positive definite."""

    hessian: Array  # (n,n)
    gradient: Array  # (n,)

    def minimise(self, linear: Array) -> Array:
        """−H⁻¹(g + linear)."""
        return np.asarray(-np.linalg.solve(self.hessian, self.gradient + linear))
