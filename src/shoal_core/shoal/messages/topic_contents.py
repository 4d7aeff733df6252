"""What the messages of a topic hold, where its type does not say it. For the docs page; see `shoal docs topics`."""

from __future__ import annotations

from shoal.messages import topics as t
from shoal.messages.topics import Topic

CONTENTS: dict[Topic, str] = {
    t.ODOMETRY: "pose in `map`, twist in `<vehicle>/base_link`; from `dynamics`, or in its place from Gazebo or a "
    "vehicle's own estimator",
    t.TRUTH: "the simulated state without the sensors' errors; published only while somebody subscribes",
    t.EXTERNAL_ODOMETRY: "a position from outside for the autopilot's estimator, in the frames of `odometry`",
    t.THRUSTERS_LIVE: "whether commands reach the thrusters; while they do not the controller commands none, and "
    "begins as after a STOP once they do. Where nobody says so, they do",
    t.BRIDGE_CLOCK: "in a trial in lock step: how far bridges may take their autopilots before `/clock` follows, "
    "so that odometry is there when controllers step",
    t.SIGHTING: "where the vehicle sees another one, in its own `base_link` (FLU); `frame_id` is the other's name; "
    "from `dynamics` if the condition has `sensors.relative`, or from a vehicle's optical link or camera",
    t.THRUST: "N, positive along the thruster's axis",
    t.PLAN: "stamped with when it was made; `joint_names` = `[vehicle, seq=N, committed=0|1, heard=…]`; one transform "
    "and one velocity (in `map`) a point, `time_from_start` counts from the stamp; `heard=<other>:<stamp>:<held>` (ns) "
    "is an echo of the other's newest plan, with its stamp and how long ago it came: from round trips the clocks of "
    "two vehicles are compared",
    t.HEARD: "a plan after loss, delay and jitter of the link model; the controller subscribes here with `use_relay`, "
    "else to `/<other>/plan`",
    t.REFERENCE: "the common setpoint from now to 4 s ahead; `joint_names` = `[fleet, heard=…]` with echoes of the "
    "vehicles' newest odometry as in a plan; a rotation is the formation's yaw, all zeros mean that none is given",
    t.SETPOINT: "the common setpoint now; its heading is the formation's yaw",
    t.VEHICLE_SETPOINT: "the vehicle's own setpoint, in recordings of `shoal simulate` only: on ROS it follows from "
    "reference and formation",
    t.FORMATION: 'JSON: `{"offsets": {name: [x, y, z]}, "radius_m": r or [[t_s, r], …], "headings_rad": {name: rad} or '
    'null, "yaw_rad": rad, "order": [name, …], "sight": [[seer, seen], …]}`; offsets in the formation\'s frame (FLU), '
    "multiplied by the radius, yaw from east; a number that is not finite is refused",
    t.MODE: "`hold`, `manual`, `waypoints`, `test` or `task`",
    t.SET_MODE: "one of the modes",
    t.TEST_STATUS: 'JSON: `{"stamp_s", "state": "idle|gliding|waiting|running|done", "test", "t_s" (of the path), '
    '"duration_s", "countdown_s" or null, "waiting_for": [sentence, …], "sequence": [name, …], "index", "round", '
    '"rounds"}`',
    t.GOAL_POSE: "RViz's 2D goal; a height of 0 means the setpoint's depth",
    t.WAYPOINT: "one more waypoint, with its exact height",
    t.WAYPOINTS: "those still ahead",
    t.SET_WAYPOINTS: "replaces them; a pose stamped later than the one before (the first: than the path) says how long "
    "its leg takes, else guidance's speed counts",
    t.CMD_VEL: "velocity of the setpoint in `map`; `angular.z` is the formation's yaw rate",
    t.STOP: "true: zero thrust on every vehicle until somebody releases it; false does nothing",
    t.RELEASE: "the counter of the STOP to be released",
    t.ASSEMBLY: 'JSON: `{"counter", "joints": [{"a", "b", "at_a_m", "at_b_m", "attitude": {x, y, z, w}}, …], '
    '"partners": '
    '[[name, …], …], "magnets": the same}`: who is rigidly joined to whom, as drawn: the point that both share in '
    "the body frame (FLU) of each, and how b is turned against a; `partners` may come closer to each other than the "
    "limits say; `magnets` are on within these groups, without it within those of the partners",
    t.SET_ASSEMBLY: "the same as an order: it is carried out if its counter is higher than the present one's; joints "
    "that are new close as the vehicles lie, joints that are missing open",
    t.OWNER: 'JSON: `{"owner", "assembly" (counter), "term"}`: whose commands the thrusters obey, its own '
    "while it swims alone, else the member that flies; with each change and every 0.4 s",
    t.PLATFORM: 'JSON: `{"phases", "cells", "owners"}` by vessel, `"wanted"` (all cells), '
    '`"owned"` (by one of them), `"complete"`, `"stage"`, `"over"`, `"stopped"`; 5 Hz',
    t.SET_PLATFORM: "of a finished platform: the name of a blueprint of as many cells to reshape it into, or what such "
    "a file would say, as JSON in braces, or `part`; refused while stopped",
    t.TANK_POSE: "as the vessel-platform thesis has it: x along the tank, y across, heading from x to y; 30 Hz",
    t.TANK_ACTUATION: "[n1, n2, α1, α2]: speeds in rev/s and angles in rad of the stern and the bow thruster",
    t.TANK_REFERENCE: "x, y in m and theta in rad, in the tank's frame",
    t.SET_DOCKING: 'JSON: `{"counter", "action": "dock|undock|cancel", "leader", "leader_port", "follower", '
    '"follower_port", "blind", "watch_port", "watch_m"}`: the follower comes to the leader\'s port, or leaves it; '
    "meanwhile the leader keeps the place `watch_m` ([x, y, z] in `map`) in the cone of `watch_port`'s camera, if "
    "one is given; cancelled it goes back to the stand-off, cancelled once more both are let go; carried out if the "
    "counter is higher than the last; STOP ends it",
    t.DOCKING: 'JSON: `{"counter", "phase", "gap_m", "lateral_m", "angle_deg", "bearing_deg", "tries", "reason", '
    '"refused"}`, '
    "with numbers from the follower, by what it knows; `counter` is the newest order's that was heard, `phase` idle, "
    "leads, accepted or one of docs/docking.md, `reason` the last abort's, `refused` why that order cannot be",
    t.SET_TASK: 'JSON: `{"action": "start|cancel", "task", "settings"}`: a task of dockings that begins where the '
    "vehicles are: `dock`, `dock_chain` or `inspect_and_dock`, with its settings; not under STOP, and one at a time",
    t.TASK: 'JSON: `{"counter" (of starts), "task", "state": "idle|running|succeeded|failed|cancelled", "done", "of" '
    '(dockings), "docking" (as on `/<vehicle>/docking`, of whoever moves), "reason", "refused"}`; 5 Hz while it runs',
    t.FIDUCIAL: "the other's fiducial as the vehicle's camera sees it: place in the observer's `base_link` (FLU), "
    "orientation that of the other's `base_link`, stamped with the exposure; how camera and fiducial are mounted is "
    "taken out already; from `dynamics` while two dock, from `tag_detector`, or from any other detector",
    t.CAMERA_IMAGE: "mono8, rgb8, bgr8, rgba8 or bgra8 of the camera that watches a port, stamped with the exposure; "
    "read while the port is about to dock",
    t.CAMERA_INFO: "its calibration, plumb_bob, of images of the same size",
    t.GROUP_THRUST: 'JSON: `{"pilot", "assembly" (counter), "term", "stamp_s", "thrust_N": [N, …]}`: thrust of all '
    "inputs of a joined group, from the member that flies it; of two that fly the higher term is obeyed",
    t.ESTIMATE: "JSON: what a vehicle that is joined, or about to be, knows of its own motion: state, unknown wrench, "
    "current, last thrust, lag and delay; its sign of life within the group",
    t.PILOT: "JSON of a pilot: sticks, setpoints, rates, preset, levels (docs/autopilot.md); read where the controller "
    "is the autopilot, and again and again, since half a second of silence counts as gone.",
    t.LEVELS: "JSON of what is active: the preset, and the level of each axis.",
    t.FORGET: "name of a silent vehicle that is out of the water or elsewhere: the others no longer keep clear of "
    "where they last knew it, until it is heard of again",
    t.STOP_STATE: "JSON: what each holder remembers of the last STOP, so that the restarted learn it from their peers",
    t.FOV: "degrees between the bow and the direction to the other",
    t.DISTANCE: "m",
    t.DIAGNOSTICS: "of a controller: name `shoal: <vehicle> controller`, `hardware_id` the vehicle; values `mode`, "
    "`issues` (JSON: `[[code, severity, subject, value], …]`), `reason`, `solve_ms`, `iterations`, `slack`, "
    "`slack_hard`, `committed`, `overrun`, `overruns`, `thruster_lag_s`, `actuation_delay_s`, `timing_certainty` (as "
    "believed) and `age_s <neighbour>`",
    t.OCEAN_CURRENT: "m/s, ENU",
    t.COLLISIONS: "who has come too close to whom",
    t.MARKERS: "vehicles, sight cones, plans, setpoint",
}
