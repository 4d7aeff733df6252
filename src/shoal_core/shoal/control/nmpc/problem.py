"""The numbers of one optimal control problem, laid out once and filled in place by the controller."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.control.nmpc.formulation import Formulation, offsets

Array = NDArray[np.float64]
REPORT = ("iterations", "mu", "step", "slack_soft", "slack_hard", "residual", "cost", "status")
FAR_M = 1e3  # where unused neighbour places are parked


class Problem:
    """Guess (overwritten by the solution), parameters, weights and limits; back ends keep pointers to these arrays."""

    def __init__(self, formulation: Formulation, steps_s: Array) -> None:
        n, nu, k = len(steps_s), formulation.nu, formulation.neighbours
        self.formulation = formulation
        self.steps_s = np.ascontiguousarray(steps_s, dtype=float)  # (N,)
        self.times_s = np.concatenate([[0.0], np.cumsum(steps_s)])  # (N+1,)
        self.x = np.zeros((n + 1, formulation.nx))
        self.u = np.zeros((n, nu))
        self.stages = np.zeros((n + 1, sum(formulation.stage_sizes.values())))
        self.globals = np.zeros(sum(formulation.global_sizes.values()))
        self.weights = np.zeros(3)  # thrust, proximal, rate of the first step
        self.limits = np.zeros((4, nu))  # lower, upper, previous command, largest change in the first step
        self.free = np.zeros((n, nu))  # inputs that cost nothing: what the wanted motion needs
        self.penalties = np.zeros((2 * len(formulation.prices), 2))  # soft ones, then hard ones: l1, l2
        self.max_step = np.array([1.0, 0.5, 1.0])  # position m, quaternion, velocities: trust region of an iteration
        self.report = np.zeros(len(REPORT))
        self._globals = offsets(formulation.global_sizes)
        places = offsets(formulation.stage_sizes)
        # Views into `stages`
        self.position_ref = self.stages[:, places["position"]]  # (N+1,3)
        self.velocity_ref = self.stages[:, places["velocity"]]  # (N+1,3)
        self.quaternion_ref = self.stages[:, places["quaternion"]]  # (N+1,4)
        self.others = self.stages[:, places["others"]]  # (N+1,3K)
        self.soft_m = self.stages[:, places["soft_m"]]  # (N+1,K)
        self.hard_m = self.stages[:, places["hard_m"]]  # (N+1,K)
        self.quaternion_ref[:, 0] = 1.0
        self.x[:, 3] = 1.0
        self.others[:] = FAR_M
        self.sight = self.block("sight")  # (K,)
        assert self.sight.shape == (k,)

    def block(self, name: str) -> Array:
        """View of one block of the global parameters."""
        return self.globals[self._globals[name]]
