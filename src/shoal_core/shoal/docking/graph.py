"""Who is coupled with whom: nodes, oriented edges, the Laplacian (Nielsen 2018, section 7.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError

Array = NDArray[np.float64]
Edge = tuple[str, str]  # (tail, head)


@dataclass(frozen=True)
class Graph:
    """An undirected graph with an orientation, which only fixes the sign of the constraint on each edge."""

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        if len(set(self.nodes)) != len(self.nodes):
            raise ShoalError(f"graph: nodes {', '.join(self.nodes)}; expected each name once")
        seen = set[frozenset[str]]()
        for edge in self.edges:
            if edge[0] == edge[1] or not set(edge) <= set(self.nodes):
                raise ShoalError(f"graph: edge {edge[0]}–{edge[1]}; expected two different nodes of the graph")
            if frozenset(edge) in seen:  # no multigraph, in either direction
                raise ShoalError(f"graph: edge {edge[0]}–{edge[1]} occurs twice; expected each pair once")
            seen.add(frozenset(edge))

    def neighbours(self, node: str) -> tuple[str, ...]:
        """N_i (7.17): adjacent in either direction."""
        return tuple(n for n in self.nodes if n != node and any({n, node} == set(edge) for edge in self.edges))

    def edges_of(self, node: str) -> tuple[Edge, ...]:
        """E_i (7.18)."""
        return tuple(edge for edge in self.edges if node in edge)

    def sign(self, node: str, edge: Edge) -> int:
        """+1 at the tail of the edge, −1 at its head, 0 elsewhere."""
        return int(node == edge[0]) - int(node == edge[1])

    @cached_property
    def incidence(self) -> Array:
        """(nodes, edges), with the signs of the orientation."""
        return np.array([[self.sign(n, e) for e in self.edges] for n in self.nodes], dtype=float).reshape(
            len(self.nodes), len(self.edges)
        )

    @cached_property
    def laplacian(self) -> Array:
        """L = D − A (nodes, nodes), whatever the orientation."""
        return np.asarray(self.incidence @ self.incidence.T)

    @property
    def is_connected(self) -> bool:
        """Whether consensus along the edges is consensus of all: L has rank n − 1."""
        return len(self.nodes) == 0 or int(np.linalg.matrix_rank(self.laplacian)) == len(self.nodes) - 1
