"""Recorded runs judged and shown like simulated ones: the same metrics, the same page."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from shoal.campaigns.rows import summary_row
from shoal.campaigns.series import series_table
from shoal.campaigns.store import Store
from shoal.config import atomic
from shoal.evaluation.metrics import all_metrics, summarise, task_metrics
from shoal.evaluation.summary import IDENTITY, Summary
from shoal.provenance import machine_class
from shoal.recordings.recording import Recording
from shoal.reports.report import write_report

SERIES_STEP_S = 0.5


def write_bag_report(name: str, recordings: Sequence[Recording], out: Path) -> tuple[list[Summary], Path]:
    """Judge each run; `out` gets report.html, summary.md and summary.json. An earlier report there is replaced."""
    summaries = [summarise(recording) for recording in recordings]
    store = Store(out)
    store.create()
    store.forget(store.done())
    tasks = dict.fromkeys(metric for recording in recordings for metric in task_metrics(recording.about.task))
    metrics = [metric.info.model_dump(mode="json") for metric in all_metrics(tasks)]
    store.write_json("campaign.json", {"campaign": {"name": name}, "metrics": metrics, "jobs": len(recordings)})
    stamp = {"machine": machine_class(), "finished_utc": datetime.now(timezone.utc).isoformat(timespec="seconds")}
    flown: dict[str, Recording] = {}
    for number, (recording, summary) in enumerate(zip(recordings, summaries, strict=True)):
        # Rounds of one test are runs of one cell: their number takes the place of a seed.
        seed = summary.seed if len(recordings) == 1 else number
        row = summary_row(summary.model_copy(update={"seed": seed}), _key(summary, number)) | stamp
        store.put(row, series_table(row["key"], recording, SERIES_STEP_S))
        flown[str(row["key"])] = recording
    atomic.write_json(out / "summary.json", [summary.model_dump(mode="json") for summary in summaries])
    return summaries, write_report(out, recordings=flown)[0]


def _key(summary: Summary, number: int) -> str:
    parts = [*(str(getattr(summary, name)) for name in IDENTITY), str(number)]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]
