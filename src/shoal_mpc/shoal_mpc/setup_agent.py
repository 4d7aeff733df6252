"""The controller of one vehicle of a fleet, as the lock-step simulator sets it up. No ROS."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import ShoalError
from shoal.fleet.agent import AgentSettings
from shoal.fleet.file import Fleet, load_fleet
from shoal.fleet.topology import pairs
from shoal.simulation.conditions import load_condition
from shoal.simulation.perturbation import controller_vehicle
from shoal.simulation.scenario import RunSpec, agent_settings
from shoal.vehicles.description import Vehicle


@dataclass(frozen=True)
class Role:
    """Who we are in which fleet."""

    fleet: Fleet
    name: str
    model: Vehicle  # what the controller believes
    settings: AgentSettings
    must_see: frozenset[str]  # until guidance tells the formation's own

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(n for n in self.fleet.names if n != self.name)


def load_role(fleet_name: str, vehicle: str, condition_name: str, period_s: float) -> Role:
    """From the files."""
    fleet, condition = load_fleet(fleet_name), load_condition(condition_name)
    members = {member.name: member for member in fleet.vehicles}
    if vehicle not in members:
        raise ShoalError(f"vehicle = '{vehicle}': not in fleet '{fleet.name}'; expected one of: {', '.join(members)}")
    settings = agent_settings(RunSpec("circle", fleet_name, control_period_s=period_s), fleet, condition)
    kind = fleet.sight.pairs if fleet.sight.topology == "given" else fleet.sight.topology
    sight = pairs(kind, fleet.names, fleet.sight.stride)
    model = controller_vehicle(members[vehicle].vehicle(), condition.controller_model)
    return Role(fleet, vehicle, model, settings, frozenset(b for a, b in sight if a == vehicle))
