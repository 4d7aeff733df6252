"""Ports of simulated vehicles that may latch: contact, cameras, and the latch itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.docking.ports_by_name import port_of
from shoal.errors import ShoalError
from shoal.frames import matrix
from shoal.messages.relative_pose import FiducialPose
from shoal.messages.state import ATTITUDE, POSITION
from shoal.simulation.camera import CameraModel, Fiducial, FiducialCamera
from shoal.simulation.conditions import FiducialSensor
from shoal.simulation.contact import Berth, Contacts, closest, hull_of
from shoal.simulation.faults import Faults
from shoal.simulation.plant import Plant
from shoal.vehicles.ports import Mating, Port, mating

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Latch:
    """Two ports have latched."""

    t_s: float
    leader: str
    follower: str
    at_leader_m: Array  # (3,) the port's place
    mating: Mating  # as it was, from the leader's port


@dataclass
class Dock:
    """One pair of ports."""

    leader: str
    follower: str
    contacts: Contacts
    cameras: dict[str, FiducialCamera]  # of each of the two, if its port has one
    latch: Latch | None = None

    @property
    def pair(self) -> frozenset[str]:
        """Both names."""
        return frozenset((self.leader, self.follower))

    @property
    def ports(self) -> tuple[str, str, str, str]:
        """Leader and its port, follower and its port."""
        berth = self.contacts.berth
        return self.leader, berth.port_first.name, self.follower, berth.port_second.name


class Docks:
    """Of a whole fleet; empty until somebody is about to dock."""

    def __init__(
        self, plant: Plant, names: tuple[str, ...], sensor: FiducialSensor, seed: int, faults: Faults | None = None
    ) -> None:
        self._plant, self._names, self._sensor, self._seed = plant, names, sensor, seed
        self._faults = Faults((), names) if faults is None else faults
        self.all: dict[frozenset[str], Dock] = {}

    @property
    def near(self) -> bool:
        """Whether anybody is near enough to touch."""
        return any(not dock.contacts.latched and dock.contacts.near for dock in self.all.values())

    def open(self, leader: str, leader_port: str, follower: str, follower_port: str) -> Dock:
        """From now on these ports may latch."""
        pair = frozenset((leader, follower))
        ports = self.port(leader, leader_port), self.port(follower, follower_port)
        if (there := self.all.get(pair)) is not None and there.ports == (leader, leader_port, follower, follower_port):
            there.contacts.armed = True
            return there
        first, second = self._names.index(leader), self._names.index(follower)
        cameras = {}
        for (i, name), own, other in zip(((first, leader), (second, follower)), ports, reversed(ports), strict=True):
            if own.camera is not None and other.marker is not None and self._sensor.enabled:
                rng = np.random.default_rng([self._seed, 8, i])
                cameras[name] = FiducialCamera(camera_model(own, self._sensor), fiducial(other), rng)
        contacts = Contacts(self._plant, Berth(first, second, *ports))
        self.all[pair] = Dock(leader, follower, contacts, cameras)
        return self.all[pair]

    def disarm(self, a: str, b: str) -> None:
        """Nobody is to latch any more; two that have stay so."""
        if (dock := self.all.get(frozenset((a, b)))) is not None:
            dock.contacts.armed = False

    def release(self, a: str, b: str) -> None:
        """Open the latch; the ports do not catch again until they are opened for docking anew."""
        if (dock := self.all.get(frozenset((a, b)))) is not None:
            dock.contacts.unlatch()
            dock.latch = None

    def act(self, t_s: float, h: float) -> list[Latch]:
        """Contact after a substep of `h` seconds; latches that have closed in it."""
        found: list[Latch] = []
        for dock in self.all.values():
            contacts = dock.contacts
            if contacts.latched or not contacts.near:
                continue
            contacts.act(h)
            if contacts.latched:
                b, states = contacts.berth, self._plant.states
                now = mating(b.port_first, states[b.first], b.port_second, states[b.second])
                dock.latch = Latch(t_s + h, dock.leader, dock.follower, b.port_first.place_m, now)
                found.append(dock.latch)
        return found

    def sightings(self, t_s: float) -> dict[str, list[FiducialPose]]:
        """What everybody's camera finds, once for each instant."""
        found: dict[str, list[FiducialPose]] = {}
        for dock in self.all.values():
            if dock.contacts.latched:
                for camera in dock.cameras.values():
                    camera.forget()
                continue
            for name, camera in dock.cameras.items():
                other = dock.follower if name == dock.leader else dock.leader
                own, seen = (self._plant.states[self._names.index(n)] for n in (name, other))
                arrived = camera.look(t_s, own, seen, partial(self._clear, (name, other)))
                if arrived and not self._faults.camera_blind(name, t_s):
                    found.setdefault(name, []).extend(arrived)
        return found

    def _clear(self, pair: tuple[str, str], eye_m: Array, marker_m: Array) -> bool:
        """Whether no hull of a third vehicle hides the one from the other."""
        for name, entry, state in zip(self._names, self._plant.vehicles, self._plant.states, strict=True):
            if name in pair:
                continue
            turn = matrix(state[ATTITUDE])
            for capsule in hull_of(entry.vehicle.size_m):
                ends = (state[POSITION] + turn @ end for end in (capsule.start_m, capsule.end_m))
                here, there = closest(eye_m, marker_m, *ends)
                if float(np.linalg.norm(here - there)) < capsule.radius_m:
                    return False
        return True

    def port(self, vehicle: str, name: str) -> Port:
        """By name; of the vehicle as it is."""
        if vehicle not in self._names:
            raise ShoalError(f"docking: '{vehicle}' is unknown; expected one of {', '.join(self._names)}")
        return port_of(vehicle, self._plant.vehicles[self._names.index(vehicle)].vehicle.ports, name)


def camera_model(port: Port, s: FiducialSensor) -> CameraModel:
    """What the camera that watches the way to a port can see."""
    c = port.camera
    assert c is not None
    return CameraModel(
        (c.place_m[0], c.place_m[1], c.place_m[2]), (c.axis[0], c.axis[1], c.axis[2]), c.half_angle_deg,
        s.turbidity_m, s.rate_hz, s.latency_s, s.dropout, s.along_std_m, s.across_std_m, s.attitude_std_deg,
        s.edge_growth,
    )  # fmt: skip


def fiducial(port: Port) -> Fiducial:
    """The marker at a port, for the other one's camera."""
    m = port.marker
    assert m is not None
    return Fiducial((m.place_m[0], m.place_m[1], m.place_m[2]), (m.normal[0], m.normal[1], m.normal[2]))
