"""Every topic once: name, type, QoS, publisher and subscribers. No ROS import: launch files, docs and tests read it.

`{vehicle}`, `{other}`, `{thruster}` and `{port}` stand for names. Nodes open topics through `shoal_ros.endpoints`, so
this table is what runs; `docs/ros.md` is held against it by a test.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """One line of the table."""

    name: str
    type: str  # package/Name
    qos: str  # name of a profile in shoal_ros.qos
    source: str
    sinks: str

    def of(self, vehicle: str = "", other: str = "", thruster: str = "", port: str = "") -> str:
        """The topic's name with the blanks filled in."""
        return self.name.format(vehicle=vehicle, other=other, thruster=thruster, port=port)


CLOCK = Topic("/clock", "rosgraph_msgs/Clock", "clock", "dynamics", "all")
ODOMETRY = Topic("/{vehicle}/odometry", "nav_msgs/Odometry", "sensor", "dynamics", "mpc, guidance, display, gui")
TRUTH = Topic("/{vehicle}/truth", "nav_msgs/Odometry", "sensor", "dynamics", "recorder")
EXTERNAL_ODOMETRY = Topic(
    "/{vehicle}/external_odometry", "nav_msgs/Odometry", "sensor", "motion capture, USBL, DVL", "mavlink_bridge"
)
THRUSTERS_LIVE = Topic("/{vehicle}/thrusters_live", "std_msgs/Bool", "latched", "mavlink_bridge", "mpc, autopilot")
BRIDGE_CLOCK = Topic("/bridge_clock", "rosgraph_msgs/Clock", "clock", "shoal ardusub trial", "mavlink_bridge")
SIGHTING = Topic("/{vehicle}/sighting", "geometry_msgs/PointStamped", "reliable", "dynamics", "mpc")
THRUST = Topic("/model/{vehicle}/joint/{thruster}_joint/cmd_thrust", "std_msgs/Float64", "command", "mpc", "dynamics")
PLAN = Topic("/{vehicle}/plan", "trajectory_msgs/MultiDOFJointTrajectory", "latest", "mpc", "mpc, relay, recorder")
HEARD = Topic("/{vehicle}/heard/{other}/plan", "trajectory_msgs/MultiDOFJointTrajectory", "latest", "relay", "mpc")
PLAN_PATH = Topic("/{vehicle}/plan_path", "nav_msgs/Path", "display", "mpc", "display, gui")
REFERENCE = Topic("/fleet/reference", "trajectory_msgs/MultiDOFJointTrajectory", "latest", "guidance", "mpc, gui")
SETPOINT = Topic("/fleet/setpoint", "geometry_msgs/PoseStamped", "latest", "guidance", "display, gui, recorder")
VEHICLE_SETPOINT = Topic("/{vehicle}/setpoint", "geometry_msgs/PoseStamped", "display", "simulate", "recordings")
FORMATION = Topic("/fleet/formation", "std_msgs/String", "latched", "guidance", "mpc, gui")
MODE = Topic("/fleet/mode", "std_msgs/String", "latched", "guidance", "gui")
SET_MODE = Topic("/fleet/set_mode", "std_msgs/String", "reliable", "gui, teleop", "guidance")
TEST_STATUS = Topic("/fleet/test_status", "std_msgs/String", "reliable", "guidance", "gui")
GOAL_POSE = Topic("/goal_pose", "geometry_msgs/PoseStamped", "reliable", "RViz", "guidance")
WAYPOINT = Topic("/fleet/waypoint", "geometry_msgs/PoseStamped", "reliable", "gui", "guidance")
WAYPOINTS = Topic("/fleet/waypoints", "nav_msgs/Path", "latched", "guidance", "gui")
SET_WAYPOINTS = Topic("/fleet/set_waypoints", "nav_msgs/Path", "reliable", "gui", "guidance")
CMD_VEL = Topic("/fleet/cmd_vel", "geometry_msgs/TwistStamped", "latest", "teleop", "guidance")
JOY = Topic("/joy", "sensor_msgs/Joy", "sensor", "joystick", "teleop")
STOP = Topic("/fleet/stop", "std_msgs/Bool", "reliable", "anybody", "mpc, dynamics, guidance, thrust_watchdog")
RELEASE = Topic("/fleet/release", "std_msgs/UInt64", "reliable", "gui", "mpc, dynamics, guidance, thrust_watchdog")
FORGET = Topic("/fleet/forget", "std_msgs/String", "reliable", "anybody", "mpc")
STOP_STATE = Topic(
    "/fleet/stop_state", "std_msgs/String", "latched_by_many", "mpc, dynamics, guidance", "the same, gui, recorder"
)
ASSEMBLY = Topic(
    "/fleet/assembly", "std_msgs/String", "latched", "dynamics, port_keeper", "mpc, guidance, gui, recorder"
)
SET_ASSEMBLY = Topic(
    "/fleet/set_assembly", "std_msgs/String", "reliable", "guidance, mpc, anybody", "dynamics, port_keeper"
)
OWNER = Topic("/{vehicle}/owner", "std_msgs/String", "latest", "mpc", "fleet_manager")
PLATFORM = Topic("/fleet/platform", "std_msgs/String", "latest", "fleet_manager", "gui, recorder")
SET_PLATFORM = Topic("/fleet/set_platform", "std_msgs/String", "reliable", "gui, anybody", "fleet_manager")
TANK_POSE = Topic("/vrpn_client_node/{vehicle}/pose", "geometry_msgs/PoseStamped", "sensor", "tank", "tank_bridge")
TANK_ACTUATION = Topic("/actuation{vehicle}", "std_msgs/Float64MultiArray", "command", "tank_bridge", "vessels")
TANK_REFERENCE = Topic("/reference{vehicle}", "geometry_msgs/Pose2D", "reliable", "anybody", "tank_bridge")
SET_DOCKING = Topic(
    "/fleet/set_docking",
    "std_msgs/String",
    "reliable",
    "guidance, gui, anybody",
    "mpc, dynamics, port_keeper, guidance, gui",
)
DOCKING = Topic("/{vehicle}/docking", "std_msgs/String", "latched", "mpc", "guidance, gui, recorder")
SET_TASK = Topic("/fleet/set_task", "std_msgs/String", "reliable", "anybody", "guidance")
TASK = Topic("/fleet/task", "std_msgs/String", "latched", "guidance", "anybody, recorder")
FIDUCIAL = Topic(
    "/{vehicle}/fiducial/{other}",
    "geometry_msgs/PoseWithCovarianceStamped",
    "sensor",
    "dynamics, port_keeper, tag_detector",
    "mpc",
)
CAMERA_IMAGE = Topic("/{vehicle}/camera/{port}/image_raw", "sensor_msgs/Image", "sensor", "a camera", "tag_detector")
CAMERA_INFO = Topic(
    "/{vehicle}/camera/{port}/camera_info", "sensor_msgs/CameraInfo", "sensor", "a camera", "tag_detector"
)
GROUP_THRUST = Topic("/{vehicle}/group_thrust", "std_msgs/String", "latest", "mpc", "mpc of joined vehicles")
ESTIMATE = Topic("/{vehicle}/estimate", "std_msgs/String", "latest", "mpc", "mpc of joined vehicles, dynamics")
PILOT = Topic("/{vehicle}/pilot", "std_msgs/String", "latest", "pilot_pad, _web, _csv, _keyboard", "autopilot")
LEVELS = Topic("/{vehicle}/levels", "std_msgs/String", "latched", "autopilot", "pilot_web, gui")
FOV = Topic("/{vehicle}/fov/{other}", "std_msgs/Float64", "display", "mpc", "gui, recorder")
DISTANCE = Topic("/{vehicle}/distance/{other}", "std_msgs/Float64", "display", "mpc", "gui, recorder")
DIAGNOSTICS = Topic("/diagnostics", "diagnostic_msgs/DiagnosticArray", "events", "all", "gui, recorder")
OCEAN_CURRENT = Topic("/ocean_current", "geometry_msgs/Vector3", "reliable", "gui", "dynamics")
COLLISIONS = Topic("/collisions", "std_msgs/String", "events", "dynamics", "gui, recorder")
TF = Topic("/tf", "tf2_msgs/TFMessage", "tf", "display", "RViz")
MARKERS = Topic("/markers", "visualization_msgs/MarkerArray", "latest", "display", "RViz, Foxglove")

TOPICS = tuple(value for value in dict(vars()).values() if isinstance(value, Topic))
