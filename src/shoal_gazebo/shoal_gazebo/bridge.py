"""ros_gz_bridge's YAML, one file per vehicle and one for what they share: Gazebo's bridge has no templating of its own.

Gazebo's names follow from the model's name (read in gz-sim 8): thrust /model/<v>/joint/<t>_joint/cmd_thrust, odometry
/model/<v>/odometry, a camera without <topic> /world/<w>/model/<v>/link/base_link/sensor/camera/image.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from shoal.fleet.file import Fleet, Member
from shoal.messages.topics import OCEAN_CURRENT, ODOMETRY, THRUST, Topic
from shoal_gazebo.latches import ATTACH, DETACH, STATE, LatchPair

TO_ROS, TO_GAZEBO = "GZ_TO_ROS", "ROS_TO_GZ"
SHARED = "shared"  # name of the file that is not a vehicle's
RAW_CLOCK = "/gazebo/clock"  # Gazebo ticks once a step; `clock_relay` hands on fewer as /clock


@dataclass(frozen=True)
class Entry:
    """One topic across the bridge."""

    ros_topic: str
    gz_topic: str
    ros_type: str
    gz_type: str
    direction: str
    queue: int = 10
    lazy: bool = False  # only while someone on the ROS side listens

    def as_mapping(self) -> dict[str, object]:
        """As ros_gz_bridge spells it."""
        side = "publisher_queue" if self.direction == TO_ROS else "subscriber_queue"
        mapping: dict[str, object] = {
            "ros_topic_name": self.ros_topic,
            "gz_topic_name": self.gz_topic,
            "ros_type_name": self.ros_type,
            "gz_type_name": self.gz_type,
            "direction": self.direction,
            side: self.queue,
        }
        return mapping | ({"lazy": True} if self.lazy else {})


def thrust_topic(vehicle: str, thruster: str) -> str:
    """The same name on both sides: the fleet's controllers publish as Gazebo listens."""
    return THRUST.of(vehicle=vehicle, thruster=thruster)


def _message(topic: Topic) -> str:
    package, name = topic.type.split("/")
    return f"{package}/msg/{name}"


def vehicle_entries(member: Member, world: str, camera: bool = True) -> list[Entry]:
    """Everything of one vehicle."""
    name = member.name
    odometry = ODOMETRY.of(vehicle=name)
    entries = [Entry(odometry, f"/model/{name}/odometry", _message(ODOMETRY), "gz.msgs.Odometry", TO_ROS)]
    for thruster in member.vehicle().input_names:
        topic = thrust_topic(name, thruster)
        # One place in the queue: an old thrust command is worth nothing once there is a newer one.
        entries.append(Entry(topic, topic, _message(THRUST), "gz.msgs.Double", TO_GAZEBO, queue=1))
    if camera:
        sensor = f"/world/{world}/model/{name}/link/base_link/sensor/camera"
        for topic, kind in (("image", "Image"), ("camera_info", "CameraInfo")):
            types = f"sensor_msgs/msg/{kind}", f"gz.msgs.{kind}"
            entries.append(Entry(f"/{name}/camera/{topic}", f"{sensor}/{topic}", *types, TO_ROS, queue=1, lazy=True))
    return entries


def shared_entries(latches: tuple[LatchPair, ...] = ()) -> list[Entry]:
    """Clock, current and the latches between vehicles: once, however many vehicles there are."""
    empty, text = ("std_msgs/msg/Empty", "gz.msgs.Empty"), ("std_msgs/msg/String", "gz.msgs.StringMsg")
    return [
        *(Entry(p.topic(w), p.topic(w), *empty, TO_GAZEBO) for p in latches for w in (ATTACH, DETACH)),
        *(Entry(p.topic(STATE), p.topic(STATE), *text, TO_ROS) for p in latches),
        Entry(RAW_CLOCK, "/clock", "rosgraph_msgs/msg/Clock", "gz.msgs.Clock", TO_ROS),
        Entry(OCEAN_CURRENT.name, "/ocean_current", _message(OCEAN_CURRENT), "gz.msgs.Vector3d", TO_GAZEBO),
    ]


def bridge_entries(
    fleet: Fleet, world: str, camera: bool = True, latches: tuple[LatchPair, ...] = ()
) -> dict[str, list[Entry]]:
    """By file: `shared` and every vehicle's name."""
    files = {SHARED: shared_entries(latches)}
    return files | {member.name: vehicle_entries(member, world, camera) for member in fleet.vehicles}


def render_bridge(fleet: Fleet, world: str, camera: bool = True, latches: tuple[LatchPair, ...] = ()) -> dict[str, str]:
    """YAML text by file name (without suffix)."""
    texts = {}
    for name, entries in bridge_entries(fleet, world, camera, latches).items():
        head = f"# ros_gz_bridge: {name}, fleet {fleet.name}, world {world}. Made by `shoal gazebo bridge`.\n"
        texts[name] = head + yaml.safe_dump([e.as_mapping() for e in entries], sort_keys=False, width=160)
    return texts
