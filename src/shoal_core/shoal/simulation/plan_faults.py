"""What a broken vehicle sends instead of its plan: nothing, the same again, one off the truth or absurdly stamped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.messages.plan import Plan
from shoal.simulation.faults import Faults

RADIO_FAULTS = ("radio_silent", "reboot", "plans_frozen", "plans_offset", "absurd_stamp", "link_loss", "link_delay")
ABSURD_S, ABSURD_SEQUENCE = 1000.0, 10**9


class PlanFaults:
    """From the plan that a controller made to the one that its radio sends."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._frozen: dict[str, Plan] = {}

    def sent(self, plan: Plan, t_s: float) -> Plan | None:
        """None: nothing is sent."""
        faults, who = self._faults, plan.vehicle
        if not faults:
            return plan
        if faults.radio_silent(who, t_s):
            return None
        if faults.plans_frozen(who, t_s):
            last = self._frozen.setdefault(who, plan)
            by_s = plan.stamp_s - last.stamp_s
            plan = replace(last.shifted(by_s), sequence=plan.sequence, heard=plan.heard)
        else:
            self._frozen.pop(who, None)
        offset_m = np.asarray(faults.plan_offset_m(who, t_s))
        if offset_m.any():
            plan = plan.shifted(0.0, offset_m)
        if faults.absurd_stamp(who, t_s):
            plan = replace(plan.shifted(ABSURD_S), sequence=plan.sequence + ABSURD_SEQUENCE)
        return plan
