"""What a campaign with broken thrusters shows: faults named rightly and in time, sound thrusters left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.evaluation.fault_naming import NAMED_S, RECOVERED_S
from shoal.evaluation.statistics import failure_rate
from shoal.reports.tables import Table, TableCell

Rows = Sequence[dict[str, Any]]
NONE, CRASHED = "no fault", "crashed"


def has_faults(rows: Rows) -> bool:
    """Whether any run had a fault that was to be named."""
    return any(row.get("fault_named_s_failed") is not None for row in rows)


def fault_headline(rows: Rows) -> list[tuple[str, str, str]]:
    """Figure, what it is, tone; of all runs with a fault, and of all runs."""
    faulty = [row for row in rows if _kind(row) != NONE]
    named = failure_rate(sum(_in_time(row) for row in faulty), len(faulty))
    alarms, errors = sum(_alarms(row) for row in rows), _values(faulty, "fault_error_max_m")
    words = (
        f"of {named.runs} faults named rightly within {NAMED_S:g} s: {named.percent:.1f} % "
        f"(95 %: at least {named.low_percent:.1f} %)"
    )
    found = [(f"{named.count}", words, "good" if named.count == named.runs else "fair")]
    found.append((
        f"{alarms}", f"sound thrusters found faulty, in {len(rows)} runs", "bad" if alarms else "good"
    ))  # fmt: skip
    if errors:
        words = f"largest own error of any vehicle from {RECOVERED_S:g} s after the fault on"
        found.append((f"{max(errors):.3f} m", words, ""))
    return found


def fault_table(rows: Rows) -> Table:
    """A line per kind of fault, whichever thruster has it, and one of all."""
    kinds = list(dict.fromkeys(_kind(row) for row in rows))
    lines = [_line(kind, [row for row in rows if _kind(row) == kind]) for kind in kinds]
    lines.append(_line("all", rows))
    explanation = (
        f"Named: the right thruster, with the right kind of fault, within {NAMED_S:g} s. Own error: of any vehicle "
        f"from its place, from {RECOVERED_S:g} s after the fault on. False alarms: sound thrusters found dead, weak, "
        "reversed or stuck; suspects are tested and used again. Tilt, sight and distance are of all vehicles; a run "
        "that crashed has named nothing."
    )
    head = (
        "fault", "runs", "named", "share [%]", "after, median (last) [s]", "own error, worst [m]", "false alarms",
        "false suspects", "tilt max, settled [°]", "sight max [°]", "distance min [m]", "failed",
    )  # fmt: skip
    return Table("Faults by kind", explanation, head, tuple(lines), ruled=(2, 5, 6, 8, 11))


def _line(kind: str, rows: Rows) -> tuple[TableCell, ...]:
    faulty = [row for row in rows if _kind(row) != NONE]
    named, after_s = sum(_in_time(row) for row in faulty), _values(faulty, "fault_named_s")
    alarms, failed = sum(_alarms(row) for row in rows), sum(bool(row["failed"]) for row in rows)
    return (
        TableCell(kind),
        TableCell(str(len(rows))),
        TableCell(f"{named} / {len(faulty)}" if faulty else "–"),
        TableCell(f"{100 * named / len(faulty):.1f}" if faulty else "–"),
        TableCell(f"{np.median(after_s):.1f} ({max(after_s):.1f})" if after_s else "–"),
        TableCell(_worst(faulty, "fault_error_max_m", 3)),
        TableCell(str(alarms), tone="bad" if alarms else "good"),
        TableCell(str(sum(int(row.get("false_suspects") or 0) for row in rows))),
        TableCell(_worst(rows, "tilt_settled_max_deg", 1)),
        TableCell(_worst(rows, "fov_max_deg", 1)),
        TableCell(_worst(rows, "distance_min_m", 2, least=True)),
        TableCell(str(failed), tone="bad" if failed else "good"),
    )


def _kind(row: dict[str, Any]) -> str:
    """The condition's name without that of the thruster, which ends at ` of `; what was varied comes after a comma."""
    thruster = str(row.get("fault_named_s_subject") or "").partition(" of ")[0]
    if row["crashed"]:
        return CRASHED
    if row.get("fault_named_s_failed") is None:
        return NONE
    condition = str(row["condition"]).partition(",")[0]
    return condition.replace(thruster, "").replace("_", " ").strip() or "fault"


def _in_time(row: dict[str, Any]) -> bool:
    return row.get("fault_named_s_failed") is False and not row["crashed"]


def _alarms(row: dict[str, Any]) -> int:
    return int(row.get("false_alarms") or 0)


def _values(rows: Rows, name: str) -> list[float]:
    return [float(row[name]) for row in rows if row.get(name) is not None]


def _worst(rows: Rows, name: str, digits: int, *, least: bool = False) -> str:
    values = _values(rows, name)
    return f"{(min if least else max)(values):.{digits}f}" if values else "–"
