"""Recorded runs judged and shown like simulated ones: the same metrics, the same page."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from shoal.campaigns.job import Job
from shoal.campaigns.rows import summary_row
from shoal.campaigns.series import series_table
from shoal.campaigns.store import Store
from shoal.evaluation.metrics import summarise
from shoal.evaluation.summary import Summary
from shoal.provenance import machine_class
from shoal.recordings.recording import RunRecord
from shoal.reports.report import write_report
from shoal.simulation.conditions import Condition

SERIES_STEP_S = 0.5


def write_bag_report(name: str, records: Sequence[RunRecord], out: Path) -> tuple[list[Summary], Path]:
    """Judge each run; `out` gets report.html, summary.md and summary.json. An earlier report there is replaced."""
    summaries = [summarise(record) for record in records]
    store = Store(out)
    store.create()
    store.forget(store.done())
    stamp = {"machine": machine_class(), "finished_utc": datetime.now(timezone.utc).isoformat(timespec="seconds")}
    for number, (record, summary) in enumerate(zip(records, summaries, strict=True)):
        # Rounds of one test are runs of one cell: what tells them apart takes the place of a seed.
        seed = summary.seed if len(records) == 1 else number
        condition = Condition(name=summary.condition)
        job = Job(summary.path, summary.fleet, condition, seed, summary.controller, summary.duration_s)
        row = summary_row(job, summary) | stamp | {"condition_hash": ""}  # nobody knows what water it was
        store.put(row, series_table(job.key(), record, SERIES_STEP_S))
    store.write_json("campaign.json", {"campaign": {"name": name}, "jobs": len(records)})
    _write_json(out / "summary.json", [summary.model_dump(mode="json") for summary in summaries])
    return summaries, write_report(out)[0]


def _write_json(file: Path, data: object) -> None:
    scratch = file.with_name(f".tmp-{file.name}")
    scratch.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    os.replace(scratch, file)
