"""Settings as ROS parameters: everything declared with type, range and description; nothing invalid gets in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy")

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from shoal.control.settings import NmpcSettings
from shoal.errors import ShoalError
from shoal.estimation.ekf import EstimatorSettings
from shoal.estimation.thruster_faults import ThrusterWatchSettings
from shoal.fleet.link import LinkSettings
from shoal.fleet.thruster_use import ThrusterUse
from shoal.vehicles.description import load_vehicle
from shoal_ros.controller_parameters import read_parameters
from shoal_ros.domain import claim_domain
from shoal_ros.parameters import SettingsParameters, declare, leaves

pytestmark = pytest.mark.ros


@pytest.fixture(scope="module")
def context() -> Iterator[rclpy.Context]:
    domain, context = claim_domain(), rclpy.Context()
    rclpy.init(context=context, domain_id=domain.number)
    yield context
    rclpy.shutdown(context=context)
    domain.close()


@pytest.fixture
def make_node(context: rclpy.Context) -> Iterator[Any]:
    nodes = []

    def make(**overrides: object) -> Node:
        given = [Parameter(name.replace("__", "."), value=value) for name, value in overrides.items()]
        nodes.append(Node("tuned", context=context, parameter_overrides=given))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


def set_one(node: Node, name: str, value: object) -> Any:
    return node.set_parameters_atomically([Parameter(name, value=value)])


def test_every_leaf_is_declared_as_the_model_says(make_node: Any) -> None:
    node = make_node()
    settings = NmpcSettings()
    SettingsParameters(node, settings, fixed={"fine_steps"})
    for leaf in leaves(settings):
        assert node.get_parameter(leaf.name).value == leaf.value
    weight = node.describe_parameter("weights.position_xy")
    assert weight.floating_point_range[0].from_value == 0
    assert weight.floating_point_range[0].to_value == 1000
    assert "1/m²" in weight.description
    assert not weight.read_only and node.describe_parameter("fine_steps").read_only
    assert node.describe_parameter("max_qp_iterations").integer_range[0].to_value == 100
    assert "off, root, quartic" in node.describe_parameter("ring.form").description


def test_change_arrives_as_a_new_model(make_node: Any) -> None:
    node, seen = make_node(), []
    held = SettingsParameters(node, NmpcSettings(), changed=seen.append)
    assert set_one(node, "weights.position_xy", 50.0).successful
    assert held.value.weights.position_xy == 50.0 == seen[-1].weights.position_xy
    both = [Parameter("limits.distance_soft_m", value=3.0), Parameter("limits.distance_hard_m", value=2.5)]
    assert node.set_parameters_atomically(both).successful  # neither order would do one by one
    assert len(seen) == 2 and seen[-1].limits.distance_hard_m == 2.5


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("weights.position_xy", -1.0, "out of range"),
        ("weights.position_xy", 1e9, "out of range"),
        ("weights.position_xy", float("nan"), "out of range"),
        ("limits.distance_soft_m", 0.5, "expected ≥"),
        ("thrust_step_N", 0.0, "greater than 0"),
        ("ring.form", "triangle", "'off', 'root' or 'quartic'"),
        ("max_qp_iterations", 5.5, "Wrong parameter type"),
        ("fine_steps", 20, "read-only"),
    ],
)
def test_refused_with_a_reason(make_node: Any, name: str, value: object, expected: str) -> None:
    node = make_node()
    held = SettingsParameters(node, NmpcSettings(), fixed={"fine_steps"})
    result = set_one(node, name, value)
    assert not result.successful
    assert expected in result.reason
    assert held.value == NmpcSettings()


def test_values_from_the_command_line_are_checked_too(make_node: Any) -> None:
    held = SettingsParameters(make_node(weights__velocity=3.0), NmpcSettings())
    assert held.value.weights.velocity == 3.0
    with pytest.raises(ShoalError, match="expected ≥"):
        SettingsParameters(make_node(limits__distance_hard_m=9.0), NmpcSettings())
    with pytest.raises(ShoalError, match=r"weights\.velocity"):
        SettingsParameters(make_node(weights__velocity=-3.0), NmpcSettings())
    with pytest.raises(ShoalError, match=r"weights\.velocity"):
        SettingsParameters(make_node(weights__velocity="much"), NmpcSettings())


def test_read_only_models_and_prefixes(make_node: Any) -> None:
    node = make_node()
    SettingsParameters(node, EstimatorSettings(), prefix="estimator.", fixed=True)
    assert "read-only" in set_one(node, "estimator.force_N", 2.0).reason


def test_lists_of_pairs_travel_flat(make_node: Any) -> None:
    node = make_node()
    held = SettingsParameters(node, LinkSettings())
    assert held.value.dropouts == ()
    assert set_one(node, "dropouts", [1.0, 2.0, 5.0, 6.0]).successful
    assert held.value.dropouts == ((1.0, 2.0), (5.0, 6.0))
    assert "pairs" in set_one(node, "dropouts", [1.0, 2.0, 5.0]).reason
    assert "from_s < to_s" in set_one(node, "dropouts", [2.0, 1.0]).reason


def test_single_parameters(make_node: Any) -> None:
    node = make_node(rate=2.0)
    assert declare(node, "rate", 1.0, "times real time", read_only=False, low=0.1, high=50.0) == 2.0
    assert "out of range" in set_one(node, "rate", 100.0).reason
    assert declare(node, "fleet", "two", "fleet file") == "two"
    assert "read-only" in set_one(node, "fleet", "three").reason


def test_an_operator_takes_thrusters_out_of_use_by_a_parameter(make_node: Any) -> None:
    node, seen = make_node(vehicle="rov1"), []
    given = read_parameters(node, lambda _: None, seen.append)
    assert given.runtime.agent.thrusters.out_of_use == ""
    for names in ("thruster1, thruster6", ""):
        assert set_one(node, "thrusters.out_of_use", names).successful
        assert seen[-1] == names
    assert "read-only" in set_one(node, "thrusters.level", 3.0).reason


def test_a_thruster_that_is_not_there_is_refused_with_the_parameter(make_node: Any) -> None:
    node, seen = make_node(vehicle="rov1"), []
    use = ThrusterUse(load_vehicle("bluerov2_heavy"), ThrusterWatchSettings())
    read_parameters(node, lambda _: None, seen.append, lambda names: use.places(names) and None)
    refused = set_one(node, "thrusters.out_of_use", "thruster1, thruster11")
    assert not refused.successful and "no 'thruster11'; expected some of thruster1, " in refused.reason
    assert node.get_parameter("thrusters.out_of_use").value == "" and seen == []
    assert set_one(node, "thrusters.out_of_use", "thruster1").successful and seen == ["thruster1"]
