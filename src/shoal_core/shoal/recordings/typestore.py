"""Standard ROS 2 messages without ROS: types, definitions and CDR from `rosbags`' Jazzy store.

The store takes a tenth of a second to load, which a controller that only reads odometry and plans can spare itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from shoal.errors import ShoalError


@lru_cache(maxsize=1)
def store() -> Any:
    """The types themselves."""
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


def kind_of(topic_type: str) -> str:
    """`nav_msgs/Odometry`, as the table of topics has it → `nav_msgs/msg/Odometry`, as recordings do."""
    return topic_type.replace("/", "/msg/")


def new(kind: str, **fields: Any) -> Any:
    """A message of `kind`, such as `std_msgs/msg/Header`."""
    return store().types[kind](**fields)


def to_bytes(message: Any) -> bytes:
    """CDR."""
    return bytes(store().serialize_cdr(message, message.__msgtype__))


def from_bytes(data: bytes, kind: str) -> Any:
    """The message; ShoalError when the bytes are none of that kind."""
    try:
        return store().deserialize_cdr(data, kind)
    except Exception as error:  # generated code: whatever torn or foreign bytes make it raise
        raise ShoalError(f"{kind}: {len(data)} bytes cannot be read ({error}); expected a whole message") from None


@lru_cache(maxsize=256)
def definition(kind: str) -> tuple[str, str]:
    """Text (ros2msg) and hash of a message type such as `std_msgs/msg/String`; ShoalError when it is not known."""
    from rosbags.typesys import TypesysError

    try:
        return str(store().generate_msgdef(kind, ros_version=2)[0]), str(store().hash_rihs01(kind))
    except (KeyError, TypesysError):
        raise ShoalError(f"recording: type '{kind}' is unknown; expected one of the standard messages") from None
