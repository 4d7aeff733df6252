"""The controller node's parameters: who we are, which controller, what it believes of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node

from shoal.control.registry import ControllerFile, controller_class, load_controller_file
from shoal.estimation.thruster_faults import ThrusterWatchSettings
from shoal.fleet.agent_settings import AgentSettings, Timing
from shoal.fleet.file import Fleet, load_fleet
from shoal.fleet.runtime import Role, RuntimeSettings
from shoal.fleet.setup import load_role, runtime_settings, settings_of
from shoal.vehicles.description import Vehicle
from shoal_ros.parameters import SettingsParameters, declare

# Of AgentSettings, each a prefix of its own.
GROUPS = ("estimator", "neighbours", "gate", "monitor", "timing", "oscillation", "let_go")
AS_DESCRIBED = -1.0


@dataclass(frozen=True)
class Configuration:
    """Everything a node was started with."""

    fleet: Fleet
    fleet_name: str
    role: Role
    vehicle: Vehicle  # what the controller believes
    file: ControllerFile
    settings: Any  # the controller's own
    runtime: RuntimeSettings
    timing: Timing
    use_relay: bool
    report_s: float


def read_parameters(
    node: Node,
    changed: Callable[[Any], None],
    out_of_use: Callable[[str], None] | None = None,
    check_thrusters: Callable[[str], None] | None = None,
    default_controller: str = "",
) -> Configuration:
    """Declare them all and read them; a ShoalError says what is wrong. `changed` gets settings tuned at run time.

    `out_of_use` gets the thrusters that are not to be used any more; a ShoalError of `check_thrusters` refuses them.
    """
    fleet_name = declare(node, "fleet", "two", "fleet name or file")
    name = declare(node, "vehicle", node.get_namespace().strip("/"), "our name in the fleet")
    chosen = declare(
        node, "controller", default_controller, "name, file or package.module:Name; empty: the fleet file's"
    )
    condition = declare(node, "condition", "", "wrong beliefs to try: a condition's name or file; empty: none")
    period_s = declare(node, "control_period_s", 0.05, "s", low=0.01, high=1.0)
    delay_s = declare(
        node, "actuation_delay_s", 0.0, "s from odometry to the thrust that answers it", low=0.0, high=1.0
    )
    lag_s = declare(node, "thruster_lag_s", AS_DESCRIBED, "s, time constant; -1: the vehicle description's", low=-1.0)
    use_relay = declare(node, "use_relay", False, "receive plans through the relay")
    report_hz = declare(node, "report_rate_hz", 5.0, "Hz, of sight and distance", low=0.1, high=50.0)
    fleet = load_fleet(fleet_name)
    role = load_role(fleet, name)
    file = load_controller_file(chosen or fleet.controller)
    fixed = controller_class(file).fixed_settings
    settings = SettingsParameters(
        node, settings_of(file, fleet), fixed=True if fixed is None else fixed, changed=changed
    )
    return Configuration(
        fleet,
        fleet_name,
        role,
        _believed(fleet, name, condition),
        file,
        settings.value,
        _runtime(node, file, out_of_use, check_thrusters),
        Timing(period_s, delay_s, None if lag_s < 0 else lag_s),
        use_relay,
        1.0 / report_hz,
    )


def _believed(fleet: Fleet, name: str, condition: str) -> Vehicle:
    member = next(member for member in fleet.vehicles if member.name == name)
    if not condition:
        return member.vehicle()
    from shoal.simulation.conditions import load_condition  # only a trial needs the simulator's files
    from shoal.simulation.perturbation import controller_vehicle

    believed = load_condition(condition).controller_model
    return controller_vehicle(member.vehicle(believed.parameter_set), believed)


def _runtime(
    node: Node,
    file: ControllerFile,
    out_of_use: Callable[[str], None] | None,
    check_thrusters: Callable[[str], None] | None,
) -> RuntimeSettings:
    """As the controller's file has it, each value a parameter."""
    given = runtime_settings(file)
    times = {
        key: declare(node, key, getattr(given, key), RuntimeSettings.model_fields[key].description or "", low=0.0)
        for key in ("odometry_fallback_s", "lost_s", "reference_timeout_s")
    }
    groups = {
        name: SettingsParameters(node, getattr(given.agent, name), f"{name}.", fixed=True).value for name in GROUPS
    }
    leads = {
        key: declare(
            node, key, getattr(given.agent, key), AgentSettings.model_fields[key].description or "", low=1.0, high=4.0
        )
        for key in ("thruster_lead", "moment_lead")
    }
    fixed = [name for name in ThrusterWatchSettings.model_fields if name != "out_of_use"]
    groups["thrusters"] = SettingsParameters(
        node,
        given.agent.thrusters,
        "thrusters.",
        fixed=fixed if out_of_use is not None else True,
        changed=None if out_of_use is None else lambda settings: out_of_use(settings.out_of_use),
        check=None if check_thrusters is None else lambda settings: check_thrusters(settings.out_of_use),
    ).value
    return RuntimeSettings(**times, agent=AgentSettings(**groups, **leads))
