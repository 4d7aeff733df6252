"""What fails when: the same windows for plant and link."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.config.file_model import Vector
from shoal.errors import ShoalError
from shoal.messages.health import Code
from shoal.recordings.recording import TrueFault
from shoal.simulation.fault_entry import Fault
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


class Faults:
    """A condition's faults, by vehicle name."""

    def __init__(self, faults: Sequence[Fault], names: Sequence[str], vehicles: Sequence[Vehicle] = ()) -> None:
        """`vehicles` in the order of the names; without them, thrusters are none of the caller's business."""
        for i, fault in enumerate(faults):
            if fault.vehicle >= len(names):
                raise ShoalError(
                    f"condition: faults.{i}.vehicle = {fault.vehicle} in a fleet of {len(names)}; "
                    f"expected 0 to {len(names) - 1}"
                )
        self._faults = [(names[fault.vehicle], fault) for fault in faults]
        self._thrusters = [
            (names[fault.vehicle], fault, _inputs_of(i, fault, vehicles[fault.vehicle]))
            for i, fault in enumerate(faults)
            if vehicles and (fault.thruster is not None or fault.module is not None)
        ]

    @property
    def of_thrusters(self) -> tuple[TrueFault, ...]:
        """What moves a vehicle otherwise than its thrusters were asked to, and how that should be reported."""
        found = []
        for name, fault in self._faults:
            what = fault.thruster or fault.module
            if what is not None and fault.to_s is None:
                found.append(TrueFault(fault.from_s, name, Code(fault.kind), what))
            elif what is not None or fault.kind in ("thrusters_dead", "frozen"):
                found.append(TrueFault(fault.from_s, name))
        return tuple(found)

    def __bool__(self) -> bool:
        return bool(self._faults)

    def thrusters_dead(self, name: str, t_s: float) -> bool:
        """A vehicle held fast does not obey either."""
        return self._is(name, t_s, "thrusters_dead", "frozen")

    def asked_N(self, name: str, t_s: float, command_N: Array) -> Array:
        """(n,) what the thrusters make of a command (n,): nothing, too little, the opposite, or always the same.

        A later entry of the condition acts upon what an earlier one has left.
        """
        for who, fault, inputs in self._thrusters:
            if who == name and fault.lasts(t_s):
                command_N = command_N.copy()
                if fault.kind == "thruster_stuck":
                    command_N[inputs] = fault.force_N
                else:
                    gain = -1.0 if fault.kind == "thruster_reversed" else fault.share or 0.0
                    command_N[inputs] *= gain
        return command_N

    def late_s(self, name: str, t_s: float) -> float:
        """How much later a command of that time acts than without a fault."""
        return sum(f.late_s or 0.0 for who, f in self._faults if who == name and f.lasts(t_s))

    def frozen(self, name: str, t_s: float) -> bool:
        """Held fast where it is."""
        return self._is(name, t_s, "frozen")

    def joints_broken(self, name: str, t_s: float) -> bool:
        """Nothing holds it to others any more."""
        return self._is(name, t_s, "joint_breaks")

    def radio_silent(self, name: str, t_s: float) -> bool:
        """Sends no plans; nor does a controller that is down."""
        return self._is(name, t_s, "radio_silent", "reboot")

    def controller_down(self, name: str, t_s: float) -> bool:
        """Its controller restarts."""
        return self._is(name, t_s, "reboot")

    def plans_frozen(self, name: str, t_s: float) -> bool:
        """Repeats its plan of when that began, with fresh stamps."""
        return self._is(name, t_s, "plans_frozen")

    def plan_offset_m(self, name: str, t_s: float) -> Vector:
        """How far the plans it sends are off what it intends; NED."""
        for who, fault in self._faults:
            if who == name and fault.kind == "plans_offset" and fault.lasts(t_s):
                return fault.offset_m
        return (0.0, 0.0, 0.0)

    def absurd_stamp(self, name: str, t_s: float) -> bool:
        """Its plans are stamped, and counted, far in the future."""
        return self._is(name, t_s, "absurd_stamp")

    def camera_blind(self, name: str, t_s: float) -> bool:
        """The cameras of its ports find nothing."""
        return self._is(name, t_s, "camera_blind")

    @property
    def of_links(self) -> bool:
        """Whether plans are ever lost or late by a fault."""
        return any(f.kind in ("link_loss", "link_delay") for _, f in self._faults)

    def of_link(self, t_s: float, sender: str, receiver: str) -> tuple[float, float]:
        """Share of the plans lost between two, and the delay in s: what the radios at both ends cost."""
        kept, delay_s = 1.0, 0.0
        for who, fault in self._faults:
            if who in (sender, receiver) and fault.lasts(t_s):
                kept *= 1.0 - (fault.share or 0.0) if fault.kind == "link_loss" else 1.0
                delay_s += fault.delay_s or 0.0
        return 1.0 - kept, delay_s

    def of_sensors(self, name: str) -> list[Fault]:
        """In the condition's order."""
        return [fault for who, fault in self._faults if who == name and fault.kind.startswith("sensor_")]

    def _is(self, name: str, t_s: float, *kinds: str) -> bool:
        return any(name == who and f.kind in kinds and f.lasts(t_s) for who, f in self._faults)


def _inputs_of(index: int, fault: Fault, vehicle: Vehicle) -> list[int]:
    """Places among a vehicle's inputs."""
    found: list[int] = []
    names: list[str] = []
    start = 0
    for thruster in vehicle.thrusters:
        module = thruster.name.rpartition("/")[0]  # of an assembly
        names.append(module if fault.kind == "module_dead" else thruster.name)
        if names[-1] == (fault.module or fault.thruster):
            found += range(start, start + thruster.inputs)
            if fault.kind == "thruster_stuck" and thruster.kind == "azimuth":
                raise ShoalError(
                    f"condition: faults.{index}.thruster = '{fault.thruster}' is an azimuth; "
                    "expected a fixed thruster with kind 'thruster_stuck'"
                )
        start += thruster.inputs
    if not found:
        key = "module" if fault.kind == "module_dead" else "thruster"
        known = ", ".join(dict.fromkeys(filter(None, names))) or "an assembly"
        raise ShoalError(
            f"condition: faults.{index}.{key} = '{fault.module or fault.thruster}' of {vehicle.name}; expected {known}"
        )
    return found
