"""The metrics of every run, metrics by name, and the verdict on a recording."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from shoal.errors import ShoalError, ShoalWarning
from shoal.evaluation import (
    attitude,
    distance,
    docking,
    effort,
    endurance,
    fault_naming,
    goal,
    health,
    path_error,
    sight,
    time_shift,
    timing,
    timing_error,
)
from shoal.evaluation.metric import Metric
from shoal.evaluation.summary import Result, Summary
from shoal.plugins import find, is_dotted
from shoal.recordings.recording import Recording

METRICS: tuple[Metric, ...] = (
    health.NOT_A_NUMBER,
    *sight.METRICS,
    *distance.METRICS,
    *time_shift.METRICS,
    *path_error.METRICS,
    *endurance.METRICS,
    *goal.METRICS,
    *docking.METRICS,
    *attitude.METRICS,
    *effort.METRICS,
    *health.METRICS,
    *timing.METRICS,
    *timing_error.METRICS,
    *fault_naming.METRICS,
)


def find_metric(name: str) -> Metric:
    """One of ours by its name, or a user's own `package.module:NAME`."""
    if not is_dotted(name):
        by_name = {metric.name: metric for metric in METRICS}
        if name not in by_name:
            known = ", ".join(by_name)
            raise ShoalError(f"metric = '{name}': unknown; expected one of {known}, or your own package.module:NAME")
        return by_name[name]
    found = find("metric", name, {})
    if not isinstance(found, Metric):
        raise ShoalError(f"metric = '{name}': is a {type(found).__name__}; expected a shoal.Metric")
    return found


def all_metrics(names: Iterable[str | Metric] = ()) -> tuple[Metric, ...]:
    """Those of every run, and some more; each once."""
    more = [name if isinstance(name, Metric) else find_metric(name) for name in names]
    chosen = {metric.name: metric for metric in METRICS}
    for metric in more:
        if chosen.setdefault(metric.name, metric) is not metric:
            raise ShoalError(f"metric = '{metric.name}': there are two of that name; expected one")
    return tuple(chosen.values())


def task_metrics(task: str) -> tuple[str, ...]:
    """What a task adds; nothing when its class is not at hand, as with a recording from elsewhere."""
    from shoal.tasks.run import TASKS, task_class  # loads CasADi

    name = task.partition(",")[0]
    if not name or (not is_dotted(name) and name not in TASKS):
        return ()
    try:
        return task_class(name).metrics
    except ShoalError as error:
        warnings.warn(f"{error}; its own metrics are left out", ShoalWarning, stacklevel=3)
        return ()


def check_bounds(names: Iterable[str], metrics: Iterable[Metric], where: str) -> None:
    """Bounds that a task or a condition sets must be those of metrics that have one."""
    bounded = [metric.name for metric in metrics if metric.bound is not None]
    for name in names:
        if name not in bounded:
            raise ShoalError(f"{where}: bounds.{name} is no metric with a bound; expected one of {', '.join(bounded)}")


def summarise(recording: Recording, metrics: Sequence[str | Metric] = ()) -> Summary:
    """Judge a run by the metrics of every run, those of its task, and `metrics`.

    A bound broken at any recorded instant is a failure. A state that is not a number fails every bound that applies.
    """
    broken = not bool(np.all(np.isfinite(recording.states)))
    results: dict[str, Result] = {}
    words: list[str] = []
    for metric in all_metrics([*task_metrics(recording.about.task), *metrics]):
        value = metric(recording)
        if value is None:
            continue
        limit = None if metric.bound is None else metric.bound.of(recording, metric.name)
        breaks = limit is not None and metric.breaks(value.number, limit)
        if limit is not None and breaks and not (broken and math.isnan(value.number)):
            words.append(metric.failure_words(recording, value, limit))
        results[metric.name] = Result(
            value=value.number if math.isfinite(value.number) else None,
            unit=metric.unit,
            at_s=value.at_s,
            subject=value.subject,
            bound=limit if limit is not None and math.isfinite(limit) else None,
            failed=None if limit is None else breaks or broken,
        )
    about = recording.about
    return Summary(
        task=about.task,
        path=about.path,
        fleet=about.fleet or str(len(recording.names)),
        condition=about.condition,
        controller=about.controller,
        seed=about.seed,
        vehicles=len(recording.names),
        duration_s=recording.duration_s,
        control_period_s=about.control_period_s,
        code_version=about.code_version,
        failed=any(result.failed for result in results.values()),
        failure="; ".join(words),
        goal=recording.outcome.goal if recording.outcome else "",
        metrics=results,
        issues=dict(recording.issue_shares),
    )
