"""What the report of a docking campaign says of each cell."""

from __future__ import annotations

from shoal.evaluation.metrics import METRICS
from shoal.evaluation.statistics import cell_key, cells_of
from shoal.messages.docking import DockingFeedback
from shoal.reports.docking_table import docking_table
from shoal.tasks.dock import why_not

INFOS = [metric.info for metric in METRICS]


def row(seed: int, after_s: float | None, failure: str = "", **measured: float) -> dict[str, object]:
    named = {f"dock_{name}": value for name, value in measured.items()}
    identity = {"task": "dock", "path": "", "condition": "biased", "fleet": "two", "controller": "nmpc", "seed": seed}
    return {
        **identity, **named, "vehicles": 2, "goal": "docked", "issues": [], "crashed": False, "failed": bool(failure),
        "failure": failure, "goal_s": after_s, "goal_s_failed": after_s is None, "tilt_max_deg": 10.0 + seed,
        "dock_angle_deg_failed": measured.get("angle_deg", 0.0) > 2.0,
    }  # fmt: skip


def test_every_figure_and_every_reason_is_there() -> None:
    same = {"angle_deg": 0.5, "bearing_deg": 12.0, "beside": 0.0, "tries": 1.0}
    rows = [row(k, 15.0 + k, speed_mps=0.05 + 0.01 * k, kbps=10.0 + 0.1 * k, **same) for k in range(3)]
    rows.append(row(3, None, "not reached: docked (failed: leaning, try 1)", kbps=9.0, beside=2.0, tries=1.0))
    rows.append(row(4, 17.0, "latched askew", speed_mps=0.02, angle_deg=2.5, bearing_deg=25.0, kbps=9.5, beside=0.0,
                    tries=2.0))  # fmt: skip
    cells = cells_of(rows, INFOS)
    table = docking_table(cells, {cell_key(rows[0]): rows}, {m.name: m for m in INFOS})
    (line,) = table.rows
    found = dict(zip(table.head, line, strict=True))
    assert found["docked"].text == "4 / 5 = 80.0 %"
    assert found["after [s]"].text == "16.5 / 17.0"
    assert found["largest bearing [°]"].text == "25.0"
    assert found["contact speed [m/s]"].text == "0.07"
    assert (found["contact angle [°]"].text, found["contact angle [°]"].tone) == ("2.5", "bad")
    assert found["traffic [kbit/s]"].text == "10.2"
    assert found["touches beside the port"].text == "2"
    assert found["largest tilt [°]"].text == "14.0"
    assert found["failed, and why"].text == (
        "not reached: docked (failed: leaning, try 1): seed 3\nlatched askew: seed 4"
    )


def test_other_campaigns_have_no_such_table() -> None:
    rows = [{**row(0, 3.0), "task": "exchange"}]
    assert docking_table(cells_of(rows, INFOS), {cell_key(rows[0]): rows}, {m.name: m for m in INFOS}).rows == ()


def test_why_a_docking_was_not_reached() -> None:
    told = DockingFeedback(1, "failed", 0.1, 0.0, 0.0, 0.0, 3, "port missed")
    assert why_not(told) == "failed: port missed, try 3"
    assert why_not(DockingFeedback(1, "accepted", 0, 0, 0, 0, 0, "", "no port 'keel'")) == "refused: no port 'keel'"
    assert why_not(None) == "nothing was heard of it"
