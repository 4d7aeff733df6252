"""What the vehicles reported during a run, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.recordings.recording import Recording

SHOWN = 10


def print_events(recording: Recording) -> None:
    """The first few, and how many more there are."""
    from shoal.console import out
    from shoal.messages.health import Health
    from shoal.messages.wording import summary

    for event in recording.events[:SHOWN]:
        words = summary(Health(event.mode, event.issues))
        out().print(f"{event.t_s:7.1f} s  {event.vehicle}: {words}", highlight=False, markup=False)
    if len(recording.events) > SHOWN:
        out().print(f"          … and {len(recording.events) - SHOWN} more", highlight=False)
