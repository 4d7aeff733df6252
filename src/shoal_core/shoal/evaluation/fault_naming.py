"""Whether broken thrusters were found, sound ones left alone, and the path followed without them."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from shoal.evaluation.arrays import worst_value
from shoal.evaluation.metric import Bound, Metric, Value
from shoal.messages.health import Code
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording

GROUP = "Thruster faults"
VERDICTS = (
    Code.THRUSTER_DEAD,
    Code.THRUSTER_WEAK,
    Code.THRUSTER_REVERSED,
    Code.THRUSTER_STUCK,
    Code.MODULE_DEAD,
)
SUSPECTS = (Code.THRUSTER_SUSPECT, Code.MODULE_SUSPECT)
NAMED_S = 10.0  # within this time after a fault it is to be named
RECOVERED_S = 15.0  # from then on the vehicle is to be back in its place
OFF_M = 0.10
FOUND_S = 5.0  # a module that dies is out of use by then


def _named_s(recording: Recording) -> Value | None:
    """Of the fault that took longest; not-a-number: one was never named, or as something else."""
    found: list[Value] = []
    for fault in recording.true_faults:
        if fault.code is None:
            continue
        times = [
            event.t_s
            for event in recording.events
            if event.vehicle == fault.vehicle and event.t_s >= fault.from_s
            and any(i.code is fault.code and i.subject == fault.thruster for i in event.issues)
        ]  # fmt: skip
        after_s = min(times) - fault.from_s if times else math.nan
        found.append(Value(after_s, subject=f"{fault.thruster} of {fault.vehicle}"))
    return max(found, key=lambda v: math.inf if math.isnan(v.number) else v.number, default=None)


def _alarms(recording: Recording, codes: tuple[Code, ...]) -> Value:
    """Sound thrusters with one of these reported, each once."""
    broken = {(f.vehicle, f.thruster): f.from_s for f in recording.true_faults}
    ill = {f.vehicle for f in recording.true_faults if f.code is None}  # whatever it says, it may well be right
    first: dict[tuple[str, str], float] = {}
    for event in recording.events:
        for issue in event.issues:
            who = event.vehicle, issue.subject
            if issue.code in codes and event.vehicle not in ill and event.t_s < broken.get(who, math.inf):
                first.setdefault(who, event.t_s)
    if not first:
        return Value(0.0)
    (vehicle, thruster), at_s = min(first.items(), key=lambda entry: entry[1])
    return Value(float(len(first)), at_s, f"{thruster} of {vehicle}")


def _late_error_m(recording: Recording) -> Value | None:
    """Of any vehicle from its own place, once there was time to find the fault."""
    times_s = [f.from_s for f in recording.true_faults if f.code is not None]
    late = recording.times_s >= max(times_s, default=math.inf) + RECOVERED_S
    if not late.any():
        return None
    error = np.linalg.norm(recording.states[:, :, POSITION] - recording.setpoints_m, axis=2)
    return worst_value(recording, np.where(late[:, None], error, np.nan), recording.names)


def _error_from_m(after_s: float, recording: Recording) -> Value | None:
    """The largest of any vehicle from its own place, so long after the first fault and later."""
    begin_s = min((f.from_s for f in recording.true_faults if f.code is not None), default=math.inf) + after_s
    late = recording.times_s >= begin_s
    if not late.any():
        return None
    error = np.linalg.norm(recording.states[:, :, POSITION] - recording.setpoints_m, axis=2)
    return worst_value(recording, np.where(late[:, None], error, np.nan), recording.names)


def _not_named(_: Recording, value: Value, limit: float) -> str:
    if math.isnan(value.number):
        return f"{value.subject} was not named"
    return f"{value.subject} was named after {value.number:.1f} s > {limit:g} s"


METRICS = (
    Metric("fault_named_s", "s", _named_s, Bound(NAMED_S, "did not name the fault", _not_named), group=GROUP,
           label="fault named after", form=".1f",
           description="From a thruster's fault to the first report of this thruster with this kind of fault."),
    Metric("false_alarms", "", lambda r: _alarms(r, VERDICTS), Bound(0.0, "found fault with a sound thruster"),
           group=GROUP, label="false alarms", form=".0f", shown=False,
           description="Sound thrusters that were reported as dead, weak, reversed or stuck."),
    Metric("false_suspects", "", lambda r: _alarms(r, SUSPECTS), group=GROUP, label="false suspects",
           form=".0f", shown=False, description="Sound thrusters that were out of use for a while, to be tested."),
    Metric("fault_error_max_m", "m", _late_error_m, Bound(OFF_M, "did not recover from the fault"), group=GROUP,
           label="largest own error after a fault", form=".3f",
           description=f"Any vehicle against its own place, from {RECOVERED_S:g} s after the fault on."),
    Metric("fault_peak_m", "m", partial(_error_from_m, 0.0), group=GROUP, label="largest own error from the fault on",
           form=".3f", description="Any vehicle against its own place, until somebody finds the fault, and after."),
    Metric("fault_held_m", "m", partial(_error_from_m, FOUND_S), group=GROUP, form=".3f",
           label=f"largest own error from {FOUND_S:g} s after a fault on",
           description="The same once there was time to find it."),
)  # fmt: skip
