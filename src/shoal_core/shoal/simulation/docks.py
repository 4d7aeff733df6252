"""Ports of simulated vehicles that may latch: contact, cameras, and the latch itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.messages.relative_pose import FiducialPose
from shoal.simulation.camera import CameraModel, Fiducial, FiducialCamera
from shoal.simulation.conditions import FiducialSensor
from shoal.simulation.contact import Berth, Contacts
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


class Docks:
    """Of a whole fleet; empty until somebody is about to dock."""

    def __init__(self, plant: Plant, names: tuple[str, ...], sensor: FiducialSensor, seed: int) -> None:
        self._plant, self._names, self._sensor, self._seed = plant, names, sensor, seed
        self.all: dict[frozenset[str], Dock] = {}

    @property
    def near(self) -> bool:
        """Whether anybody is near enough to touch."""
        return any(not dock.contacts.latched and dock.contacts.near for dock in self.all.values())

    def open(self, leader: str, leader_port: str, follower: str, follower_port: str) -> Dock:
        """From now on these ports may latch."""
        pair = frozenset((leader, follower))
        if pair in self.all:
            self.all[pair].contacts.armed = True
            return self.all[pair]
        first, second = self._names.index(leader), self._names.index(follower)
        ports = self.port(leader, leader_port), self.port(follower, follower_port)
        cameras = {}
        for (i, name), own, other in zip(((first, leader), (second, follower)), ports, reversed(ports), strict=True):
            if own.camera is not None and other.marker is not None and self._sensor.enabled:
                rng = np.random.default_rng([self._seed, 8, i])
                cameras[name] = FiducialCamera(self._model(own), _fiducial(other), rng)
        contacts = Contacts(self._plant, Berth(first, second, *ports))
        self.all[pair] = Dock(leader, follower, contacts, cameras)
        return self.all[pair]

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
                continue
            for name, camera in dock.cameras.items():
                other = dock.follower if name == dock.leader else dock.leader
                own, seen = (self._plant.states[self._names.index(n)] for n in (name, other))
                if arrived := camera.look(t_s, own, seen):
                    found.setdefault(name, []).extend(arrived)
        return found

    def port(self, vehicle: str, name: str) -> Port:
        """By name; of the vehicle as it is."""
        ports = {p.name: p for p in self._plant.vehicles[self._names.index(vehicle)].vehicle.ports}
        if name not in ports:
            known = ", ".join(ports) or "none: its file has no ports"
            raise ShoalError(f"docking: '{vehicle}' has no port '{name}'; expected one of {known}")
        return ports[name]

    def _model(self, port: Port) -> CameraModel:
        s, c = self._sensor, port.camera
        assert c is not None
        return CameraModel(
            (c.place_m[0], c.place_m[1], c.place_m[2]), (c.axis[0], c.axis[1], c.axis[2]), c.half_angle_deg,
            s.turbidity_m, s.rate_hz, s.latency_s, s.dropout, s.along_std_m, s.across_std_m, s.attitude_std_deg,
            s.edge_growth,
        )  # fmt: skip


def _fiducial(port: Port) -> Fiducial:
    m = port.marker
    assert m is not None
    return Fiducial((m.place_m[0], m.place_m[1], m.place_m[2]), (m.normal[0], m.normal[1], m.normal[2]))
