"""The same run in the simulator and as real processes, recorded and judged: the two verdict tables side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from shoal.evaluation.metrics import summarise
from shoal.evaluation.summary import Summary
from shoal.recordings.bag_reader import read_runs
from shoal.tasks.run import RunSpec, simulate
from shoal_ros.harness import Harness
from shoal_ros.node_list import fleet_nodes

pytestmark = [pytest.mark.ros, pytest.mark.slow]
SEED, SECONDS = 3, 40.0
WITHIN = 0.2
# A metric and what does not count as a difference: a few millimetres, degrees or hundredths of a second.
COMPARED = {
    "fov_max_deg": 12.0,  # of the first seconds, as the largest tilt below: 16 to 24° on ROS, 15° in the simulator
    "distance_min_m": 0.02,
    "rmse_m": 0.002,
    "setpoint_error_rms_m": 0.002,
    # Of the first second, which no two runs on ROS share (its timing is estimated from whatever noise is read, and the
    # fleet holds until guidance begins): 7 to 16° in six runs of the same seed in still water, 9° in the simulator.
    "tilt_max_deg": 10.0,
    "tilt_settled_max_deg": 3.0,
    "time_shift_x_s": 0.08,
    "time_shift_y_s": 0.08,
}

# With 0.5 m/s and waves this fleet's thrusters saturate, and when within a wave guidance begins differs from run to run
# on ROS, by seconds at times: in 11 runs (18 November 2026) the largest tilt was 23 to 39°, in the simulator 25°, from
# starts moved by 0.2 m 21 to 31°. A run that tumbles fails here by the verdict's own bound on tilt.
ROUGH = {"within": 0.35, "tilt_max_deg": 15.0, "tilt_settled_max_deg": 15.0}


def on_ros(condition: str, folder: Path) -> Summary:
    """Plant, controllers, guidance, relay where the condition needs one, and the recorder, in lock step."""
    with Harness() as harness:
        specs = fleet_nodes("fosso2023_two", path="circle", task="follow_path", condition=condition, seed=SEED,
                            rate=0.0, lockstep=True, duration_s=SECONDS, display=False, record=str(folder))  # fmt: skip
        harness.start(*specs)
        plant = harness.children["/dynamics"]
        harness.spin(lambda: not plant.running, "the end of the run", wall_s=300.0)
        assert plant.code == 0, harness.output()
    runs = read_runs(folder, from_s=0.0, to_s=SECONDS)
    assert len(runs) == 1
    return summarise(runs[0])


@pytest.mark.parametrize("condition", ["default", "loss_70", "current_05_waves"])
def test_the_verdict_on_ros_is_the_simulators(condition: str, tmp_path: Path) -> None:
    swum = on_ros(condition, tmp_path / "dive")
    simulated = summarise(simulate(RunSpec("circle", "fosso2023_two", condition, SEED, duration_s=SECONDS)))
    table = {name: (swum.value(name), simulated.value(name)) for name in COMPARED}
    print(condition, {name: f"{a:.4g} | {b:.4g}" for name, (a, b) in table.items() if a is not None and b is not None})
    assert not swum.failed and not simulated.failed, swum.failure + simulated.failure
    slack = {"within": WITHIN, **COMPARED} | (ROUGH if condition == "current_05_waves" else {})
    for name, (ours, expected) in table.items():
        assert ours is not None and expected is not None, name
        assert ours == pytest.approx(expected, rel=slack["within"], abs=slack[name]), (name, table)
