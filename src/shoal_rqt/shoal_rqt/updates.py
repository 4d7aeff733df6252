"""What the ROS side hands to the window: plain values, NED/FRD, seconds of ROS time. No Qt, no ROS.

An update with a key replaces an older one of the same key that has not been read yet.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.stop import StopState
from shoal.messages.docking import DockingFeedback, DockingOrder
from shoal.messages.joining import Joining
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal_rqt.platform_status import PlatformStatus

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Update:
    """Something received."""

    @property
    def key(self) -> Hashable | None:
        """None: an event, of which each one counts."""
        return type(self).__name__


@dataclass(frozen=True)
class _OfVehicle(Update):
    vehicle: str

    @property
    def key(self) -> Hashable:
        return type(self), self.vehicle


@dataclass(frozen=True)
class ClockUpdate(Update):
    """The time."""

    t_s: float


@dataclass(frozen=True)
class OdometryUpdate(_OfVehicle):
    """Where a vehicle is."""

    odometry: Odometry


@dataclass(frozen=True)
class PlanUpdate(_OfVehicle):
    """Where a vehicle means to go."""

    plan: Plan


@dataclass(frozen=True)
class ThrustUpdate(_OfVehicle):
    """The commands to its thrusters; NaN: none received yet."""

    thrust_N: Array  # (n,)


@dataclass(frozen=True)
class SightUpdate(_OfVehicle):
    """A controller's report on a neighbour: angle off its bow, distance; None: not reported this time."""

    other: str
    angle_deg: float | None
    distance_m: float | None

    @property
    def key(self) -> Hashable:
        return type(self), self.vehicle, self.other


@dataclass(frozen=True)
class DiagnosticUpdate(Update):
    """A node's line on /diagnostics."""

    name: str
    hardware_id: str
    level: int
    message: str
    values: Mapping[str, str]

    @property
    def key(self) -> Hashable:
        return type(self), self.name


@dataclass(frozen=True)
class ReferenceUpdate(Update):
    """The common setpoint and where it will be."""

    preview: Preview


@dataclass(frozen=True)
class FormationUpdate(Update):
    """Who has which place, and who must see whom."""

    placement: Placement


@dataclass(frozen=True)
class ModeUpdate(Update):
    """Who owns the reference."""

    mode: str


@dataclass(frozen=True)
class TestUpdate(Update):
    """`/fleet/test_status`. Of each state at least one is kept, or a short test would pass unseen."""

    __test__ = False
    status: Mapping[str, Any]

    @property
    def key(self) -> Hashable:
        return type(self), self.status.get("state"), self.status.get("index"), self.status.get("round")


@dataclass(frozen=True)
class QueueUpdate(Update):
    """Waypoints that guidance still has to reach."""

    positions_m: Array  # (K,3)


@dataclass(frozen=True)
class CurrentUpdate(Update):
    """The water, as last published."""

    velocity_mps: Array  # (3,)


@dataclass(frozen=True)
class StopUpdate(Update):
    """What one holder of STOP knows."""

    holder: str  # full name of its node
    state: StopState

    @property
    def key(self) -> Hashable:
        return type(self), self.holder


@dataclass(frozen=True)
class StopRequestUpdate(Update):
    """STOP was sent from this station (True), or the request was withdrawn."""

    requested: bool


@dataclass(frozen=True)
class GraphUpdate(Update):
    """Vehicles found, nodes running, and whether a joystick publishes."""

    vehicles: tuple[str, ...]
    nodes: frozenset[str]
    stick: bool


@dataclass(frozen=True)
class ParametersUpdate(Update):
    """Parameters of a node."""

    node: str
    values: Mapping[str, Any]

    @property
    def key(self) -> Hashable:
        return type(self), self.node


@dataclass(frozen=True)
class AssemblyUpdate(Update):
    """Who is rigidly joined to whom."""

    joining: Joining


@dataclass(frozen=True)
class DockingOrderUpdate(Update):
    """Which two ports, by whomever it was ordered."""

    order: DockingOrder


@dataclass(frozen=True)
class DockingUpdate(_OfVehicle):
    """A vehicle's part in a docking."""

    feedback: DockingFeedback


@dataclass(frozen=True)
class PlatformUpdate(Update):
    """How the fleet manager's platform stands."""

    status: PlatformStatus


@dataclass(frozen=True)
class LevelsUpdate(_OfVehicle):
    """Levels of autonomy that are active, in words."""

    words: str


@dataclass(frozen=True)
class EventUpdate(Update):
    """One line for the operator. Level as in /diagnostics."""

    level: int
    text: str

    @property
    def key(self) -> None:
        return None


@dataclass(frozen=True)
class Answer(Update):
    """The outcome of a request, for whoever made it; `done` is called in the window's thread."""

    done: Callable[[Any], None]
    result: Any

    @property
    def key(self) -> None:
        return None
