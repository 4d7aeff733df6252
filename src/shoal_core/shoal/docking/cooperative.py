"""Docking of planar vehicles by consensus (Nielsen 2018, chapter 8): centralised, and distributed by prices.

What one vehicle must keep alone (an object in view, within a distance of it) is a priced row of its own problem; what
couples two vehicles is the consensus of their poses and that each stays in the other's camera. One Gauss–Newton step
a round, warm-started by the previous one: the problem is bilinear in heading and place and else quadratic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.docking.box_qp import BoxProblem
from shoal.docking.dual_decomposition import DualDecomposition, Solutions
from shoal.docking.graph import Edge, Graph
from shoal.docking.planar import NU, NX, Camera, PlanarVehicle, Prediction

Array = NDArray[np.float64]
POSE, SHARED = 3, NX + 3  # numbers of a pose; of a step in what is exchanged: state and consensus point


@dataclass(frozen=True)
class Tuning:
    """Table 8.1. With its R = W = 10 the vehicles close at 1 cm/s; R = 0.1 and W = 1 dock within a minute."""

    horizon: int = 30
    period_s: float = 0.05
    consensus: float = 15.0  # P
    velocity: float = 10.0  # W
    force: float = 10.0  # R
    cone_step: float = 30.0  # κ
    consensus_step: float = 2.0  # γ
    inner_iterations: int = 15  # L
    row_weight: float = 2e4  # of a vehicle's own limits, N/m per metre of excess
    heading_opens_cone: bool = True  # ∂A(ψ)/∂ψ counts; false: A frozen, as (8.21) reads


@dataclass(frozen=True)
class Watch:
    """An object that a vehicle must keep in view and near (8.27)."""

    object_m: tuple[float, float]
    camera: Camera
    within_m: float


@dataclass(frozen=True)
class Rendezvous:
    """Who docks with whom, by which cameras."""

    graph: Graph
    vehicles: Mapping[str, PlanarVehicle]
    cameras: Mapping[tuple[str, str], Camera]  # of the first, for the second
    watches: Mapping[str, Watch] = field(default_factory=dict)


class _Vehicle:
    """Prediction, cost and own limits of one vehicle, linearised at its last forces."""

    def __init__(self, vehicle: PlanarVehicle, watch: Watch | None, tuning: Tuning) -> None:
        self._watch, self._tuning = watch, tuning
        n = tuning.horizon
        self._predict = Prediction(vehicle, n, tuning.period_s)
        self.bound = np.tile(vehicle.limits, n)
        self.forces = np.zeros(NU * n)
        self.states, self.jacobian = np.zeros((n, NX)), np.zeros((NX * n, NU * n))
        self._poses = (np.arange(n)[:, None] * NX + np.arange(POSE)).ravel()
        self._speeds = self._poses + POSE

    def begin(self, state: Array) -> None:
        """A new sample: the forces of the last one, a step on."""
        self._state = state
        self.forces = np.concatenate([self.forces[NU:], self.forces[-NU:]])
        self.linearise()

    def linearise(self) -> None:
        """At the present forces."""
        self.states, self.jacobian = self._predict(self._state, self.forces.reshape(-1, NU))

    @property
    def by_pose(self) -> Array:
        """∂η/∂U (3N,3N)."""
        return self.jacobian[self._poses]

    def quadratic(self) -> tuple[Array, Array]:
        """Hessian and gradient of νᵀWν + uᵀRu in the step from the present forces."""
        t, speeds = self._tuning, self.jacobian[self._speeds]
        hessian = 2 * (t.velocity * speeds.T @ speeds + t.force * np.eye(len(self.forces)))
        gradient = 2 * (t.velocity * (self.states[:, POSE:].ravel() @ speeds) + t.force * self.forces)
        return hessian, gradient

    def own_rows(self) -> tuple[Array, Array]:
        """Rows (m,3N) in the step and their values (m,): the object in view, and within reach."""
        if self._watch is None:
            return np.zeros((0, len(self.forces))), np.zeros(0)
        n, target = self._tuning.horizon, np.array(self._watch.object_m)
        values, by_pose, _ = self._watch.camera.rows(self.states, np.tile(target, (n, 1)))
        away = self.states[:, :2] - target
        far = np.maximum(np.linalg.norm(away, axis=1), 1e-9)
        reach = np.concatenate([away / far[:, None], np.zeros((n, 1))], axis=1)[:, None]
        values = np.concatenate([values, (far - self._watch.within_m)[:, None]], axis=1)
        by_pose = np.concatenate([by_pose, reach], axis=1)  # (N,3 rows,3)
        rows = np.einsum("krp,kpu->kru", by_pose, self.by_pose.reshape(n, POSE, -1))
        return rows.reshape(-1, len(self.forces)), values.ravel()


class _Local:
    """min l_i + linear·(X_i, Θ_i) by one Gauss–Newton step (8.21–8.23).

    The consensus point is eliminated: θ = η − ½P⁻¹c minimises (η−θ)ᵀP(η−θ) + cᵀθ and leaves cᵀη.
    """

    def __init__(self, vehicle: _Vehicle, tuning: Tuning) -> None:
        self._vehicle, self._tuning = vehicle, tuning

    def minimise(self, linear: Array) -> Array:
        """(9N,) states and consensus points, step by step."""
        v, t = self._vehicle, self._tuning
        price = linear.reshape(t.horizon, SHARED)
        by_state = price[:, :NX].copy()
        by_state[:, :POSE] += price[:, NX:]
        hessian, gradient = v.quadratic()
        rows, values = v.own_rows()
        lower, upper = -v.bound - v.forces, v.bound - v.forces
        problem = BoxProblem(
            hessian, gradient + by_state.ravel() @ v.jacobian, lower, upper, rows, values, 2 * t.row_weight
        )
        v.forces = v.forces + problem.minimise(np.zeros_like(v.forces))
        v.linearise()
        theta = v.states[:, :POSE] - price[:, NX:] / (2 * t.consensus)
        return np.concatenate([v.states, theta], axis=1).ravel()


class _Consensus:
    """θ_i = θ_j at every step (8.17)."""

    inequality = False

    def __init__(self, nodes: Edge, tuning: Tuning) -> None:
        n = tuning.horizon
        self.nodes, self.step, self.size = nodes, tuning.consensus_step, POSE * n
        pick = np.asarray(np.kron(np.eye(n), np.eye(SHARED)[NX:]), dtype=np.float64)
        self._matrices = {nodes[0]: pick, nodes[1]: -pick}

    def value(self, solutions: Solutions) -> Array:
        """(3N,)."""
        a, b = (solutions[n].reshape(-1, SHARED)[:, NX:] for n in self.nodes)
        return np.asarray((a - b).ravel())

    def gradients(self, solutions: Solutions) -> Mapping[str, Array]:
        """Constant."""
        return self._matrices


class _InView:
    """A_{i,j}(ψ_i)(x_j − x_i) ≤ 0 at every step (8.20)."""

    inequality = True

    def __init__(self, nodes: Edge, camera: Camera, tuning: Tuning) -> None:
        self.nodes, self._camera, self._tuning = nodes, camera, tuning
        self.step, self.size = tuning.cone_step, 2 * tuning.horizon

    def _rows(self, solutions: Solutions) -> tuple[Array, Array, Array]:
        own, other = (solutions[n].reshape(-1, SHARED) for n in self.nodes)
        return self._camera.rows(own[:, :NX], other[:, :2])

    def value(self, solutions: Solutions) -> Array:
        """(2N,) metres outside."""
        return self._rows(solutions)[0].ravel()

    def gradients(self, solutions: Solutions) -> Mapping[str, Array]:
        """(2N,9N) each."""
        n = self._tuning.horizon
        _, by_pose, by_target = self._rows(solutions)
        if not self._tuning.heading_opens_cone:
            by_pose[:, :, 2] = 0.0
        own, other, k = np.zeros((n, 2, n, SHARED)), np.zeros((n, 2, n, SHARED)), np.arange(n)
        own[k, :, k, :POSE], other[k, :, k, :2] = by_pose, by_target
        return {self.nodes[0]: own.reshape(2 * n, -1), self.nodes[1]: other.reshape(2 * n, -1)}


class DistributedDocking:
    """Algorithm 1: L rounds of local problems, exchange and prices in every sample; prices go on to the next."""

    def __init__(self, task: Rendezvous, tuning: Tuning) -> None:
        self._tuning = tuning
        self._vehicles = {n: _Vehicle(v, task.watches.get(n), tuning) for n, v in task.vehicles.items()}
        self._problems = {n: _Local(v, tuning) for n, v in self._vehicles.items()}
        consensus = [_Consensus(edge, tuning) for edge in task.graph.edges]
        cones = [_InView(pair, camera, tuning) for pair, camera in task.cameras.items()]
        self.dual = DualDecomposition(task.graph, [*consensus, *cones])

    def step(self, states: Mapping[str, Array]) -> dict[str, Array]:
        """Forces (3,) of each vehicle now, of its state (6,)."""
        for name, vehicle in self._vehicles.items():
            vehicle.begin(states[name])
        start = {n: np.concatenate([v.states, v.states[:, :POSE]], axis=1).ravel() for n, v in self._vehicles.items()}
        self.dual.iterate(self._problems, start, self._tuning.inner_iterations)
        return {n: v.forces[:NU].copy() for n, v in self._vehicles.items()}


class CentralisedDocking:
    """(8.13–8.16): one problem of all vehicles with the cost ηᵀ(L⊗P)η, cones as priced rows."""

    def __init__(self, task: Rendezvous, tuning: Tuning, rounds: int = 2) -> None:
        self._task, self._tuning, self._rounds = task, tuning, rounds
        self._vehicles = {n: _Vehicle(v, task.watches.get(n), tuning) for n, v in task.vehicles.items()}
        size = NU * tuning.horizon
        self._at = {n: slice(i * size, (i + 1) * size) for i, n in enumerate(task.vehicles)}

    def step(self, states: Mapping[str, Array]) -> dict[str, Array]:
        """Forces (3,) of each vehicle now, of its state (6,)."""
        for name, vehicle in self._vehicles.items():
            vehicle.begin(states[name])
        for _ in range(self._rounds):
            problem = self._problem()
            step = problem.minimise(np.zeros_like(problem.gradient))
            for name, vehicle in self._vehicles.items():
                vehicle.forces = vehicle.forces + step[self._at[name]]
                vehicle.linearise()
        return {n: v.forces[:NU].copy() for n, v in self._vehicles.items()}

    def _problem(self) -> BoxProblem:
        t, size = self._tuning, len(self._at) * NU * self._tuning.horizon
        hessian, gradient = np.zeros((size, size)), np.zeros(size)
        rows, values = [], []
        for name, v in self._vehicles.items():
            at = self._at[name]
            hessian[at, at], gradient[at] = v.quadratic()
            own, value = v.own_rows()
            rows.append(_placed(own, at, size))
            values.append(value)
        for a, b in self._task.graph.edges:  # ηᵀ(L⊗P)η is the sum of these over the edges
            va, vb = self._vehicles[a], self._vehicles[b]
            apart = _placed(va.by_pose, self._at[a], size) - _placed(vb.by_pose, self._at[b], size)
            hessian += 2 * t.consensus * apart.T @ apart
            gradient += 2 * t.consensus * (va.states[:, :POSE] - vb.states[:, :POSE]).ravel() @ apart
        for (a, b), camera in self._task.cameras.items():
            va, vb = self._vehicles[a], self._vehicles[b]
            value, by_pose, by_target = camera.rows(va.states, vb.states[:, :2])
            own = np.einsum("krp,kpu->kru", by_pose, va.by_pose.reshape(t.horizon, POSE, -1))
            other = np.einsum("krp,kpu->kru", by_target, vb.by_pose.reshape(t.horizon, POSE, -1)[:, :2])
            own, other = own.reshape(2 * t.horizon, -1), other.reshape(2 * t.horizon, -1)
            rows.append(_placed(own, self._at[a], size) + _placed(other, self._at[b], size))
            values.append(value.ravel())
        bound = np.concatenate([v.bound for v in self._vehicles.values()])
        forces = np.concatenate([v.forces for v in self._vehicles.values()])
        weight = 2 * t.row_weight
        return BoxProblem(
            hessian, gradient, -bound - forces, bound - forces, np.vstack(rows), np.concatenate(values), weight
        )


def _placed(rows: Array, at: slice, size: int) -> Array:
    """Rows of one vehicle among the columns of all."""
    wide = np.zeros((len(rows), size))
    wide[:, at] = rows
    return wide
