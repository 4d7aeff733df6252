"""What a metric is: a number read from a recording, perhaps with a bound that decides whether the run has failed.

One more metric is one more entry in `evaluation.metrics.METRICS`, or a user's own `package.module:NAME`. Summaries,
columns of a campaign's data set, statistics, tables and verdicts are made from the entries; none of them knows a name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from shoal.config.file_model import FileModel
from shoal.recordings.recording import Recording

Worst = Literal["max", "min", "abs"]  # abs: the largest without its sign


@dataclass(frozen=True)
class Value:
    """A number with where it comes from. Not-a-number: it applies, but cannot be determined."""

    number: float
    at_s: float | None = None  # instant, of a largest or smallest value
    subject: str = ""  # a vehicle, or a pair of them


Computed = Value | float | None  # None: does not apply, such as a distance of one vehicle


@dataclass(frozen=True)
class Bound:
    """The value that a run may not exceed; for a metric whose worst is "min", not fall below."""

    limit: float | Callable[[Recording], float | None]  # None: no bound in this run
    failure: str = ""  # what the run did then, after "5 of 100 runs": "lost sight"
    words: Callable[[Recording, Value, float], str] | None = None  # the sentence of a failure, instead of the usual one

    def of(self, recording: Recording, name: str = "") -> float | None:
        """In this run: what its task or condition says of the metric `name`, else the usual one."""
        if name in recording.bounds:
            return recording.bounds[name]
        return self.limit(recording) if callable(self.limit) else float(self.limit)


class MetricInfo(FileModel):
    """All about a metric but how it is computed: what tables are made from, also where its code is not at hand."""

    name: str
    unit: str = ""
    label: str = ""
    part: str = ""
    worst: Worst = "max"
    description: str = ""
    group: str = ""
    form: str = ".3g"
    shown: bool = True
    reproducible: bool = True
    bounded: bool = False
    failure: str = ""

    @property
    def title(self) -> str:
        """For a column: `largest sight angle [°]`."""
        words = " ".join(word for word in (self.label, self.part) if word)
        return f"{words} [{self.unit}]" if self.unit else words

    @property
    def unit_words(self) -> str:
        """As written after a number."""
        return self.unit if self.unit in ("", "°") else f" {self.unit}"

    def limit_text(self, limit: float) -> str:
        """Without the unit and without needless digits; a share in percent."""
        return f"{limit:.3g}" if not self.form.endswith("%") else f"{100 * limit:.3g}%"

    def text(self, number: float | None) -> str:
        """Without the unit; a dash for none."""
        return "–" if number is None else f"{number:{self.form}}"


@dataclass(frozen=True)
class Metric:
    """Call it with a recording to get its Value."""

    name: str  # of the column; ends with the unit, as in fov_max_deg
    unit: str  # as shown; empty for a share or a count
    compute: Callable[[Recording], Computed]
    bound: Bound | None = None
    worst: Worst = "max"
    label: str = ""  # as shown; the name if not given
    part: str = ""  # of a label that several metrics share, such as x, y, z: they share a line in a verdict
    description: str = ""  # one sentence
    group: str = "Further metrics"  # the table of a report in which it appears; empty: in none
    form: str = ".3g"  # of the number
    shown: bool = True  # in the verdict on a single run
    reproducible: bool = True  # False: depends on the machine and its load; kept apart in data sets

    def __call__(self, recording: Recording) -> Value | None:
        """None: does not apply."""
        found = self.compute(recording)
        return found if isinstance(found, Value) or found is None else Value(float(found))

    @property
    def info(self) -> MetricInfo:
        """Without its code."""
        return MetricInfo(
            name=self.name,
            unit=self.unit,
            label=self.label or self.name,
            part=self.part,
            worst=self.worst,
            description=self.description,
            group=self.group,
            form=self.form,
            shown=self.shown,
            reproducible=self.reproducible,
            bounded=self.bound is not None,
            failure=self.bound.failure if self.bound else "",
        )

    def breaks(self, number: float, limit: float) -> bool:
        """Whether the number is on the wrong side of the limit; not-a-number always is."""
        if not math.isfinite(number):
            return True
        if self.worst == "min":
            return number < limit
        return (abs(number) if self.worst == "abs" else number) > limit

    def failure_words(self, recording: Recording, value: Value, limit: float) -> str:
        """`FOV angle 60.5° > 60° at 77.7 s (rov2 -> rov1)`."""
        if self.bound is not None and self.bound.words is not None:
            return self.bound.words(recording, value, limit)
        unit, sign = self.info.unit_words, "<" if self.worst == "min" else ">"
        when = "" if value.at_s is None else f" at {value.at_s:.1f} s"
        who = f" ({value.subject})" if value.subject else ""
        name = " ".join(word for word in (self.label or self.name, self.part) if word)
        if not math.isfinite(value.number):
            return f"{name} cannot be determined"
        return f"{name} {value.number:{self.form}}{unit} {sign} {self.info.limit_text(limit)}{unit}{when}{who}"
