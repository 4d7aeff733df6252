"""What older versions wrote, in today's types, so that their recordings still load."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from shoal.messages.health import Mode
from shoal.messages.limits import Limits
from shoal.recordings.recording import About, HealthEvent, Outcome

MODES = {mode.name.lower(): mode for mode in Mode} | {"nmpc": Mode.CONTROLLER, "shifted_plan": Mode.PREVIOUS_PLAN}
_LIMITS = {"fov_soft_deg": "sight_soft_deg", "fov_hard_deg": "sight_hard_deg"}


def mode_of(text: str) -> Mode | None:
    """By the first word: `NMPC; solver …`, `station_keeping: no odometry`. None: not a mode of any version."""
    return MODES.get(re.split(r"[;: ]", text, maxsplit=1)[0].lower())


def limits_of(data: Mapping[str, float]) -> Limits:
    """Under today's names or those before."""
    return Limits(**{_LIMITS.get(key, key): value for key, value in data.items()})


def about_of(data: Mapping[str, Any]) -> About:
    """What is known; the rest keeps its default."""
    known = {field.name: data[field.name] for field in fields(About) if data.get(field.name) is not None}
    return About(**known)


def event_of(entry: list[Any]) -> HealthEvent:
    """Of (time, vehicle, mode, issues), or of (time, vehicle, sentence) as it was before issues had codes."""
    if len(entry) == 4:
        return HealthEvent.from_json(entry)
    t_s, vehicle, text = entry
    return HealthEvent(t_s, vehicle, mode_of(text) or Mode.CONTROLLER)


def outcome_of(data: Mapping[str, Any]) -> Outcome | None:
    """The goal of a task that had one."""
    return Outcome(str(data["goal"]), data.get("goal_s")) if data.get("goal") else None
