"""The formation on `/fleet/formation`, for the nodes; what it looks like is `shoal.recordings.placement_json`."""

from __future__ import annotations

from std_msgs.msg import String

from shoal.messages.placement import Placement
from shoal.recordings.placement_json import formation_from_json, formation_to_json

__all__ = ["formation_from_json", "formation_from_message", "formation_to_json", "formation_to_message"]


def formation_to_message(placement: Placement) -> String:
    """As formation_to_json."""
    return String(data=formation_to_json(placement))


def formation_from_message(message: String) -> Placement:
    """As formation_from_json."""
    return formation_from_json(message.data)
