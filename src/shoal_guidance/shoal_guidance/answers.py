"""Bad input costs a refusal or a line in the log, never the node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from std_srvs.srv import Trigger

from shoal.errors import ShoalError


def serve(
    act: Callable[[], str | None], _: Trigger.Request, answer: Trigger.Response, words: str = ""
) -> Trigger.Response:
    """Of a service: what was done, in the act's words or these, or why not."""
    try:
        answer.success, answer.message = True, act() or words
    except ShoalError as error:
        answer.success, answer.message = False, str(error)
    return answer


def attempt(logger: Any, who: str, act: Callable[[], None]) -> None:
    """Of a topic."""
    try:
        act()
    except ShoalError as error:
        logger.warning(f"{who}: {error}", throttle_duration_sec=2.0)
