"""The autopilot's process: a pilot's messages, levels, diagnostics, STOP. The test is plant and clock."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool, String

from shoal.autopilot.attitude import euler_angles
from shoal.fleet.file import load_fleet
from shoal.messages import topics
from shoal.messages.odometry import Odometry
from shoal.simulation.plant import Plant
from shoal_ros import convert
from shoal_ros.harness import Harness, statuses
from shoal_ros.node_list import vehicle_node

pytestmark = pytest.mark.ros
PERIOD_S = 0.05


def _answered(thrust: list[list[Any]], seen: list[int]) -> bool:
    return all(len(received) > n for received, n in zip(thrust, seen, strict=True))


def test_a_pilot_turns_holds_and_stops() -> None:
    fleet = load_fleet("one")
    me, member = fleet.names[0], fleet.vehicles[0]
    plant = Plant([member.vehicle()], member.start_state().array[None])
    thrusters = [t.name for t in member.vehicle().thrusters]
    with Harness() as harness:
        clock, odometry = harness.publisher(topics.CLOCK), harness.publisher(topics.ODOMETRY, vehicle=me)
        pilot, stop = harness.publisher(topics.PILOT, vehicle=me), harness.publisher(topics.STOP)
        levels = harness.listen(topics.LEVELS, vehicle=me)
        thrust = [harness.listen(topics.THRUST, vehicle=me, thruster=t) for t in thrusters]
        diagnostics = harness.listen(topics.DIAGNOSTICS)
        harness.start(vehicle_node("one", me, lockstep=True, controller="autopilot"))
        heard_by = (clock, pilot, odometry, stop)
        harness.spin(lambda: all(publisher.get_subscription_count() for publisher in heard_by), "the autopilot")
        thrust_topics = [topics.THRUST.of(vehicle=me, thruster=t) for t in thrusters]
        harness.spin(lambda: all(harness.node.count_publishers(name) for name in thrust_topics), "its thrust topics")
        k = 0

        def run(seconds: float, said: dict[str, object] | None) -> None:
            nonlocal k
            for _ in range(round(seconds / PERIOD_S)):
                k += 1
                t_s = k * PERIOD_S
                if said is not None:
                    pilot.publish(String(data=json.dumps(said)))
                seen = [len(received) for received in thrust]
                message = convert.odometry_to_message(Odometry(t_s, plant.states[0].copy()), me)
                for _ in range(60):  # odometry is best effort: what got lost is asked again
                    clock.publish(Clock(clock=convert.to_stamp(t_s)))
                    odometry.publish(message)
                    end_s = time.monotonic() + 1.0
                    while time.monotonic() < end_s and not _answered(thrust, seen):
                        harness.linger(0.005)
                    if _answered(thrust, seen):
                        break
                assert _answered(thrust, seen), harness.output()
                plant.step(np.array([[received[-1].data for received in thrust]]), PERIOD_S)

        start = euler_angles(plant.states[0, 3:7])[2]
        run(3.0, {"preset": "position_hold", "sticks": {"yaw": 0.5}})
        turned = np.degrees(euler_angles(plant.states[0, 3:7])[2] - start)
        assert 30 < turned < 80 and json.loads(levels[-1].data)["preset"] == "position_hold"
        run(2.0, {"levels": {"yaw": "hold"}, "sticks": {"yaw": 0.5}})
        assert abs(plant.states[0, 12]) < 0.05 and json.loads(levels[-1].data)["yaw"] == "hold"
        harness.spin(
            lambda: "yaw hold" in statuses(diagnostics, f"{me} controller")[-1].message, "levels in the diagnostics"
        )
        run(0.1, {"preset": "warp"})  # refused: nothing changes
        assert json.loads(levels[-1].data)["yaw"] == "hold"
        stop.publish(Bool(data=True))
        harness.spin(lambda: all(received[-1].data == 0.0 for received in thrust), "zero thrust")
