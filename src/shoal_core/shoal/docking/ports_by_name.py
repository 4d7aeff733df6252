"""Ports as orders name them."""

from __future__ import annotations

from shoal.errors import ShoalError
from shoal.vehicles.ports import Port


def port_of(vehicle: str, ports: tuple[Port, ...], name: str) -> Port:
    """By name, or a ShoalError."""
    found = {p.name: p for p in ports}
    if name not in found:
        known = ", ".join(found) or "none: its file has no ports"
        raise ShoalError(f"docking: '{vehicle}' has no port '{name}'; expected one of {known}")
    return found[name]
