"""Which thrusters are used: those that are neither out of use by order nor found to be faulty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.estimation.ekf import StateEstimator
from shoal.estimation.module_loss import modules_of
from shoal.estimation.thruster_faults import ThrusterWatch, ThrusterWatchSettings
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.odometry import Odometry
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
CODES = {
    "suspect": Code.THRUSTER_SUSPECT,
    "dead": Code.THRUSTER_DEAD,
    "weak": Code.THRUSTER_WEAK,
    "reversed": Code.THRUSTER_REVERSED,
    "stuck": Code.THRUSTER_STUCK,
}
OF_MODULES = {"suspect": Code.MODULE_SUSPECT, "dead": Code.MODULE_DEAD}


class ThrusterUse:
    """`fitted` gives a vehicle whose unused thrusters have no effect: the rest of the agent sees just that."""

    def __init__(self, vehicle: Vehicle, settings: ThrusterWatchSettings) -> None:
        self._settings = settings
        self._load(vehicle)

    def _load(self, vehicle: Vehicle) -> None:
        self._thrusters = vehicle.thrusters
        self._watch = ThrusterWatch(vehicle, self._settings)
        self._by_order = self.places(self._settings.out_of_use)

    def places(self, names: str) -> frozenset[int]:
        """Of inputs, by the names of their thrusters, separated by commas; a ShoalError for one that is not here."""
        wanted, found, start = {name.strip() for name in names.split(",") if name.strip()}, set(), 0
        for thruster in self._thrusters:
            if thruster.name in wanted:
                found |= set(range(start, start + thruster.inputs))
            start += thruster.inputs
        if unknown := wanted - {t.name for t in self._thrusters}:
            known = ", ".join(t.name for t in self._thrusters)
            raise ShoalError(f"thrusters.out_of_use = '{names}': no '{sorted(unknown)[0]}'; expected some of {known}")
        return frozenset(found)

    def order(self, names: str) -> None:
        """Thrusters out of use by order, separated by commas; all others are used again, whatever was found."""
        self._by_order = self.places(names)
        self._watch.acquit()

    @property
    def unused(self) -> list[int]:
        """Inputs without effect."""
        return sorted(self._by_order | self._watch.faults.keys())

    @property
    def tests_suspect(self) -> bool:
        """Whether a thruster is out of use because nobody knows yet what it does."""
        return any(f.kind == "suspect" for f in self._watch.faults.values())

    def fitted(self, vehicle: Vehicle) -> Vehicle:
        """That vehicle, or its successor, with what is out of use."""
        if [t.name for t in vehicle.thrusters] != [t.name for t in self._thrusters]:  # joined or parted
            self._load(vehicle)
        whole = tuple(
            t if np.any(t.direction) else replace(t, direction=kept.direction)
            for t, kept in zip(vehicle.thrusters, self._thrusters, strict=True)
        )
        unused, start, thrusters = set(self.unused), 0, []
        for t in whole:
            thrusters.append(replace(t, direction=np.zeros(3)) if start in unused else t)
            start += t.inputs
        vehicle = replace(vehicle, thrusters=tuple(thrusters))
        self._watch.set_vehicle(vehicle)
        return vehicle

    def see(
        self, odometry: Odometry, before_s: float, pushed_Ns: Array, estimator: StateEstimator, *, slow: bool
    ) -> bool:
        """A measurement and the impulse (n,) since the one before it; whether the vehicle must be `fitted` anew.

        `slow`: measurements come too seldom to learn from them.
        """
        if not self._settings.enabled:
            return False
        if slow:
            self._watch.clear()
            return False
        stamp_s, span_s = odometry.stamp_s, odometry.stamp_s - before_s
        e = estimator
        return self._watch.see(stamp_s, span_s, pushed_Ns / span_s, odometry.state, e.state, e.current)

    def clear(self) -> None:
        """Nothing is known of the time before."""
        self._watch.clear()

    def command_N(self, t_s: float, thrust_N: Array, lower_N: Array, upper_N: Array, *, test: bool) -> Array:
        """(n,) nothing for those out of use; `test`: thrusters may be tried now."""
        unused = self.unused
        if unused:
            thrust_N = thrust_N.copy()
            thrust_N[unused] = 0.0
        if test and self._settings.enabled:
            thrust_N = thrust_N + self._watch.test_N(t_s, thrust_N, lower_N, upper_N)
        return thrust_N

    def issues(self) -> tuple[Issue, ...]:
        """What an operator should know."""
        names = [t.name for t in self._thrusters for _ in range(t.inputs)]
        found = {i: Issue(Code.THRUSTER_OUT_OF_USE, Severity.WARNING, names[i]) for i in self._by_order}
        faults = self._watch.faults
        for i, fault in faults.items():
            found[i] = Issue(CODES[fault.kind], Severity.WARNING, names[i], 100 * fault.certainty)
        for module, inputs in modules_of(names).items() if faults else ():
            kinds = {faults[i].kind if i in faults else "" for i in inputs}
            if len(kinds) == 1 and (code := OF_MODULES.get(kinds.pop())) is not None:  # one sentence, not eight
                certainty = faults[inputs[0]].certainty
                found = {i: issue for i, issue in found.items() if i not in inputs}
                found[inputs[0]] = Issue(code, Severity.WARNING, module, 100 * certainty)
        return tuple(found[i] for i in sorted(found))
