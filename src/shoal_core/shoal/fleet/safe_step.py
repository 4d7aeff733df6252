"""A controller's step whose answer can be sent: what throws, or is not finite, must not stop the vehicle's loop."""

from __future__ import annotations

import numpy as np

from shoal.control.base import Controller, ControlOutput, Estimate, NeighbourForecast
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity


def safe_step(
    controller: Controller, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
) -> ControlOutput:
    """What the controller wants; one that is not `usable` and says why, after an answer that cannot be sent."""
    try:
        output = controller.step(estimate.t_s, estimate, directive, neighbours)
        wrong = output.wrong(len(estimate.previous_N)) if output.usable else ""
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    if not wrong:
        return output
    controller.reset()
    issue = Issue(Code.CONTROLLER_RAISED, Severity.ERROR, wrong)
    times_s, states = np.array([estimate.start_s]), estimate.state[None]
    return ControlOutput(estimate.previous_N, times_s, states, issues=(issue,), usable=False)
