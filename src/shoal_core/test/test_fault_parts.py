"""The report of a campaign with broken thrusters, on rows that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.reports.fault_parts import fault_headline, fault_table, has_faults


def row(thruster: str, kind: str, after_s: float | None, **more: Any) -> dict[str, Any]:
    """A finished run; `thruster` empty: without a fault."""
    fault = {
        "fault_named_s": after_s,
        "fault_named_s_subject": f"{thruster} of rov1",
        "fault_named_s_failed": after_s is None or after_s > 10.0,
        "fault_error_max_m": 0.02,
    }
    condition = f"{thruster}_{kind},thrusters.test_every_s=5" if thruster else kind
    common = {"condition": condition, "crashed": False, "failed": False, "false_alarms": 0.0, "false_suspects": 0.0}
    return common | (fault if thruster else {}) | more


ROWS = [
    row("thruster1", "dead", 3.0),
    row("thruster2", "dead", 5.0, fault_error_max_m=0.07),
    row("thruster1", "reversed", 11.0, failed=True),  # too late
    row("thruster8", "reversed", None, failed=True, false_alarms=2.0),  # others were named instead
    row("", "sound", None, false_suspects=1.0),
    {"condition": "thruster3_dead", "crashed": True, "failed": True},
]


def test_kinds_are_counted_whichever_thruster_has_them() -> None:
    table = fault_table(ROWS)
    lines = {cells[0].text: {h: c.text for h, c in zip(table.head, cells, strict=True)} for cells in table.rows}
    assert list(lines) == ["dead", "reversed", "no fault", "crashed", "all"]
    assert (lines["dead"]["named"], lines["dead"]["after, median (last) [s]"]) == ("2 / 2", "4.0 (5.0)")
    assert lines["dead"]["own error, worst [m]"] == "0.070"
    assert (lines["reversed"]["named"], lines["reversed"]["false alarms"]) == ("0 / 2", "2")
    assert (lines["no fault"]["named"], lines["no fault"]["false suspects"]) == ("–", "1")
    assert (lines["all"]["named"], lines["all"]["share [%]"], lines["all"]["failed"]) == ("2 / 5", "40.0", "3")


def test_the_headline_counts_a_crash_as_not_named() -> None:
    (named, words, tone), (alarms, of_runs, _), (error, _, _) = fault_headline(ROWS)
    assert (named, tone) == ("2", "fair") and words.startswith("of 5 faults named rightly within 10 s: 40.0 %")
    assert (alarms, error) == ("2", "0.070 m") and of_runs.endswith("in 6 runs")


@pytest.mark.parametrize(("rows", "any_fault"), [(ROWS, True), (ROWS[4:5], False), ([], False)])
def test_campaigns_without_faults_have_no_such_part(rows: list[dict[str, Any]], any_fault: bool) -> None:
    assert has_faults(rows) == any_fault
