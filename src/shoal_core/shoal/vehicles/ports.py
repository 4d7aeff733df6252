"""Where vehicles latch onto each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.frames import matrix
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY

Array = NDArray[np.float64]
PortKind = Literal["androgynous", "plug", "socket"]


@dataclass(frozen=True)
class PortCamera:
    """The camera that watches the way to a port."""

    place_m: Array  # (3,) FRD
    axis: Array  # (3,) unit
    half_angle_deg: float


@dataclass(frozen=True)
class PortMarker:
    """The fiducial that the other vehicle's camera finds; flat, seen from its front only."""

    place_m: Array  # (3,) FRD
    normal: Array  # (3,) unit
    size_m: float = 0.16  # edge of the black square


@dataclass(frozen=True)
class Port:
    """A place on the hull that meets another vehicle's: both directions point outwards, both ups the same way."""

    name: str
    place_m: Array  # (3,) FRD
    direction: Array  # (3,) unit, outwards
    up: Array  # (3,) unit, across the direction
    catch_m: float = 0.025
    catch_deg: float = 3.0
    catch_mps: float = 0.1
    magnet_N: float = 0.0  # pull when touching
    magnet_reach_m: float = 0.05  # where half of it is left
    camera: PortCamera | None = None
    marker: PortMarker | None = None
    kind: PortKind = "androgynous"

    @property
    def axes(self) -> Array:
        """(3,3) columns: direction, side, up; port frame to body."""
        return np.column_stack([self.direction, np.cross(self.up, self.direction), self.up])


def fits(a: Port, b: Port) -> bool:
    """Whether these can ever latch: a plug into a socket, androgynous ones onto each other."""
    return {a.kind, b.kind} in ({"androgynous"}, {"plug", "socket"})


def mated_attitude(a: Port, b: Port) -> Array:
    """(3,3) how B's body is turned in A's when these ports are latched."""
    return np.asarray(a.axes @ np.diag([-1.0, -1.0, 1.0]) @ b.axes.T)


@dataclass(frozen=True)
class Mating:
    """How far two ports are from being latched."""

    gap_m: Array  # (3,) from the first port to the second, in the first's frame: outwards, side, up
    angle_deg: float  # of the turn that is left
    speed_mps: float  # of the second port's place against the first's

    @property
    def closing_m(self) -> float:
        """Along the first port's direction; negative: through each other."""
        return float(self.gap_m[0])

    @property
    def lateral_m(self) -> float:
        """Across it."""
        return float(np.hypot(self.gap_m[1], self.gap_m[2]))


def mating(a: Port, state_a: Array, b: Port, state_b: Array) -> Mating:
    """Of two vehicles with states (13,)."""
    (at_a, velocity_a), (at_b, velocity_b) = _moving(a, state_a), _moving(b, state_b)
    frame_a, frame_b = matrix(state_a[ATTITUDE]) @ a.axes, matrix(state_b[ATTITUDE]) @ b.axes
    mated = frame_a @ np.diag([-1.0, -1.0, 1.0])  # what b's frame is when latched: turned by 180° about up
    cosine = (np.trace(mated.T @ frame_b) - 1) / 2
    angle = math.degrees(math.acos(max(-1.0, min(1.0, float(cosine)))))
    return Mating(frame_a.T @ (at_b - at_a), angle, float(np.linalg.norm(velocity_b - velocity_a)))


def caught(a: Port, b: Port, now: Mating) -> bool:
    """Whether the latch closes: ports that fit, inside the tighter of both tolerances."""
    return (
        fits(a, b)
        and float(np.linalg.norm(now.gap_m)) <= min(a.catch_m, b.catch_m)
        and now.angle_deg <= min(a.catch_deg, b.catch_deg)
        and now.speed_mps <= min(a.catch_mps, b.catch_mps)
    )


def magnet_N(a: Port, b: Port, gap_m: float) -> float:
    """Pull of both magnets at a distance: the weaker of them, F/(1 + (gap/reach)²)."""
    reach = min(a.magnet_reach_m, b.magnet_reach_m)
    return min(a.magnet_N, b.magnet_N) / (1 + (gap_m / reach) ** 2)


def _moving(port: Port, state: Array) -> tuple[Array, Array]:
    """Place and velocity (3,) in NED."""
    turn = matrix(state[ATTITUDE])
    return state[POSITION] + turn @ port.place_m, turn @ (state[VELOCITY] + np.cross(state[RATE], port.place_m))
