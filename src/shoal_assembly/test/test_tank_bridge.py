"""A vessel that speaks the thesis's topics, steered by our controller: real processes, a plant behind the topics."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import Point, Pose, Pose2D, PoseStamped, Quaternion
from rosgraph_msgs.msg import Clock

from shoal.fleet.file import load_fleet
from shoal.frames import yaw_of
from shoal.messages import topics
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY, State
from shoal.platform.model import PlanarPose
from shoal.platform.tank import Actuation, PoseDifferences
from shoal.simulation.conditions import load_condition
from shoal.simulation.world import World
from shoal_ros import convert
from shoal_ros.harness import Harness
from shoal_ros.node_list import NodeSpec, vehicle_node

NEWTON_PER_REVS = 0.0018  # thesis, code
HZ = 30


def test_actuation_is_speed_and_angle_of_each_thruster_in_order() -> None:
    (member,) = load_fleet("vessel").vehicles
    found = Actuation(member.vehicle()).of(np.array([0.09, 0.0, 0.0, -0.054]))
    assert found == pytest.approx([50.0, 30.0, 0.0, -math.pi / 2])
    silent = Actuation(member.vehicle()).of(np.zeros(4))
    assert silent == pytest.approx([0.0, 0.0, 0.0, 0.0])


def test_velocity_comes_from_poses_in_the_body_frame() -> None:
    differences, odometry = PoseDifferences(), None
    for k in range(60):
        t_s = k / HZ
        heading = 0.2 * t_s
        odometry = differences.odometry(t_s, PlanarPose(0.1 * t_s, 0.0, heading))
    assert odometry is not None
    turned = 0.1 * np.array([math.cos(heading), -math.sin(heading)])
    np.testing.assert_allclose(odometry.state[VELOCITY][:2], turned, atol=1e-3)
    assert odometry.state[RATE][2] == pytest.approx(0.2, abs=1e-3)
    assert differences.odometry(t_s, PlanarPose()) is None  # the same stamp again


@pytest.mark.ros
@pytest.mark.slow
def test_a_pose2d_moves_the_vessel_there() -> None:
    fleet = load_fleet("vessel")
    (name,) = fleet.names
    world = World(fleet, {name: State.at_rest((0.0, 0.0, 0.0), 0.0)}, load_condition("tank"), 3, 0.05, 60.0)
    goal = Pose2D(x=0.5, y=-0.3, theta=0.6)
    bridge = NodeSpec("shoal_assembly", "tank_bridge", "tank_bridge",
                      parameters={"use_sim_time": True, "fleet": "vessel", "references": True})  # fmt: skip
    with Harness() as h:
        clock, pose = h.publisher(topics.CLOCK), h.publisher(topics.TANK_POSE, vehicle=name)
        reference = h.publisher(topics.TANK_REFERENCE, vehicle=name)
        told = h.listen(topics.TANK_ACTUATION, vehicle=name)
        h.start(bridge, vehicle_node("vessel", name, lockstep=True, condition="tank"))
        h.spin(lambda: pose.get_subscription_count() and reference.get_subscription_count(), "the bridge")
        reference.publish(goal)
        errors_m: list[float] = []

        def tick() -> None:
            """The tank: its clock, its tracking, its thrusters."""
            state = world.states[0]
            clock.publish(Clock(clock=convert.to_stamp(world.t_s)))
            half = yaw_of(state[ATTITUDE]) / 2
            message = PoseStamped(pose=Pose(position=Point(x=state[0], y=state[1]),
                                            orientation=Quaternion(z=math.sin(half), w=math.cos(half))))  # fmt: skip
            message.header.stamp = convert.to_stamp(world.t_s)
            pose.publish(message)
            h.linger(0.02)
            if told:
                n1, n2, a1, a2 = told[-1].data
                forces = [NEWTON_PER_REVS * n * f(a) for n, a in ((n1, a1), (n2, a2)) for f in (math.cos, math.sin)]
                world.command(name, np.array(forces), world.t_s, world.t_s)
            world.step(round(1 / HZ / world.plant.substep_s) * world.plant.substep_s)
            errors_m.append(float(np.hypot(*(world.states[0][POSITION][:2] - [goal.x, goal.y]))))

        h.spin(lambda: (tick(), len(told) > 5)[1], "the controller", wall_s=60.0)
        began = len(errors_m)
        while len(errors_m) < began + 18 * HZ:
            tick()
        output = h.output()
    assert max(errors_m[-2 * HZ :]) < 0.02, output
    assert abs(yaw_of(world.states[0][ATTITUDE]) - goal.theta) < 0.05
