"""A process that behaves on ROS as Gazebo behind its bridges does.

1 ms steps of the force model on the rendered models, a tick of /gazebo/clock with each handful of them, odometry at
50 Hz with the mean over ten steps for a twist, thrust kept for ever. Unlike Gazebo it waits a moment for a controller
that is late, so that a busy machine makes a slow sea and not another one.

    python stand_in_gazebo.py FLEET WORLD FOLDER
"""

from __future__ import annotations

import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from scipy.spatial.transform import Rotation
from std_msgs.msg import Float64
from trajectory_msgs.msg import MultiDOFJointTrajectory

from gazebo_forces import GazeboVehicle, State
from shoal.messages import topics
from shoal_gazebo.bridge import RAW_CLOCK, thrust_topic
from shoal_gazebo.bringup import Preparation, Spawn, prepare
from shoal_gazebo.sdf_reader import read_model
from shoal_ros import endpoints
from shoal_ros.convert import from_stamp

HANDFUL = 5  # steps a tick
ODOMETRY_EVERY = 4  # ticks
LATE_S = 0.070  # since the odometry that the last plan answers; controllers answer one every 40 or 60 ms
PATIENCE_S = 1.0  # of wall time for a late controller; then it counts as gone


class Swimmer:
    """One vehicle and its topics."""

    def __init__(self, node: Any, ready: Preparation, spawn: Spawn) -> None:
        self.name = spawn.name
        self.body = GazeboVehicle(read_model(spawn.model_file), ready.world)
        turned = Rotation.from_euler("z", spawn.yaw_rad).as_matrix()
        self.state = State(np.array([spawn.x_m, spawn.y_m, spawn.z_m]), turned, np.zeros(3), np.zeros(3))
        self.commands = np.zeros(len(self.body.thrusters))
        self.controlled, self.answered_s, self.now_s = False, 0.0, 0.0
        self.linear: deque[np.ndarray] = deque(maxlen=10)
        self.angular: deque[np.ndarray] = deque(maxlen=10)
        self.output = node.create_publisher(Odometry, f"/{self.name}/odometry", 10)
        self.plans = endpoints.polled(node, topics.PLAN, endpoints.Polled(), vehicle=self.name)
        self.inputs = []
        for system in self.body.thrusters:
            thruster = system.values["joint_name"].removesuffix("_joint")
            topic = thrust_topic(self.name, thruster)
            self.inputs.append(node.create_subscription(Float64, topic, lambda _: None, 1))

    def read(self) -> None:
        for index, source in enumerate(self.inputs):  # without an executor: there is little time between ticks
            if (taken := source.handle.take_message(Float64, False)) is not None:
                self.commands[index] = taken[0].data
        # A plan goes out right behind its thrust, and is stamped as the odometry that it answers: counted from when the
        # thrust came, a controller on a busy machine could fall further behind with every step.
        while (taken := self.plans.handle.take_message(MultiDOFJointTrajectory, False)) is not None:
            self.controlled, self.answered_s = True, from_stamp(taken[0].header.stamp)

    def wait_for_controller(self) -> None:
        self.read()
        end = time.monotonic() + PATIENCE_S
        while self.controlled and self.now_s - self.answered_s > LATE_S:
            time.sleep(0.001)
            self.read()
            self.controlled = self.controlled and time.monotonic() < end

    def steps(self, step_s: float) -> None:
        self.wait_for_controller()
        self.now_s += HANDFUL * step_s
        self.body.command(self.commands)
        for _ in range(HANDFUL):
            before, self.state = self.state, self.body.step(self.state, step_s)
            self.linear.append(self.state.rotation.T @ (self.state.position - before.position) / step_s)
            self.angular.append(self.state.rate)

    def publish(self, stamp: Any) -> None:
        message = Odometry()
        message.header.stamp, message.header.frame_id, message.child_frame_id = stamp, "map", f"{self.name}/base_link"
        at, turned = message.pose.pose.position, message.pose.pose.orientation
        at.x, at.y, at.z = (float(v) for v in self.state.position)
        turned.x, turned.y, turned.z, turned.w = (float(v) for v in Rotation.from_matrix(self.state.rotation).as_quat())
        twist = message.twist.twist
        twist.linear.x, twist.linear.y, twist.linear.z = (float(v) for v in np.mean(self.linear, axis=0))
        twist.angular.x, twist.angular.y, twist.angular.z = (float(v) for v in np.mean(self.angular, axis=0))
        self.output.publish(message)


def main(fleet: str, world: str, folder: str) -> None:
    """In real time, or as near as the machine manages; for ever."""
    rclpy.init()
    node = rclpy.create_node("stand_in_gazebo")
    ready = prepare(fleet, world, Path(folder), camera=False)
    swimmers = [Swimmer(node, ready, spawn) for spawn in ready.spawns]
    clock = node.create_publisher(Clock, RAW_CLOCK, 10)
    step_s, tick, due = ready.world.step_s, 0, time.monotonic()
    while True:
        for swimmer in swimmers:
            swimmer.steps(step_s)
        tick += 1
        message = Clock()
        milliseconds = round(tick * HANDFUL * step_s * 1000)
        message.clock.sec, message.clock.nanosec = milliseconds // 1000, milliseconds % 1000 * 1_000_000
        clock.publish(message)
        if tick % ODOMETRY_EVERY == 0:
            for swimmer in swimmers:
                swimmer.publish(message.clock)
        due = max(due + HANDFUL * step_s, time.monotonic())  # a slow machine makes a slow sea, not a hurried one
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main(*sys.argv[1:4])
