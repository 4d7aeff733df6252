"""The verdict on one run: what `summary.json`, `shoal simulate --json` and a campaign's rows hold."""

from __future__ import annotations

from typing import Any

from shoal.config.file_model import FileModel

IDENTITY = ("task", "path", "condition", "fleet", "controller", "seed")  # what was run, as the recording itself says


class Result(FileModel):
    """One metric of one run."""

    value: float | None  # None: cannot be determined, such as the time shift of a run that went astray
    unit: str = ""
    at_s: float | None = None  # instant of a largest or smallest value
    subject: str = ""  # vehicle or pair
    bound: float | None = None  # None: none in this run
    failed: bool | None = None  # None: not bounded


class Summary(FileModel):
    """`metrics` holds those that apply; a distance of one vehicle, for example, is not among them."""

    task: str
    path: str
    fleet: str
    condition: str
    controller: str
    seed: int
    vehicles: int
    duration_s: float
    control_period_s: float | None = None
    code_version: str

    failed: bool  # any bounded metric
    failure: str  # which, where and when, in words; empty when it passed
    goal: str  # of a task that has one, in words
    metrics: dict[str, Result]
    issues: dict[str, float]  # what controllers reported: share of control steps, over all vehicles

    def value(self, name: str) -> float | None:
        """Of a metric; None when it does not apply or cannot be determined."""
        return self.metrics[name].value if name in self.metrics else None

    def broke(self, name: str) -> bool:
        """Whether the run broke that metric's bound."""
        return bool(self.metrics[name].failed) if name in self.metrics else False

    def row(self) -> dict[str, Any]:
        """Flat: `fov_max_deg` and, where there are such, `fov_max_deg_at_s`, `…_subject`, `…_bound`, `…_failed`."""
        flat = self.model_dump(exclude={"metrics", "issues"}) | {"issues": sorted(self.issues)}
        for name, result in self.metrics.items():
            extra = {key: getattr(result, key) for key in ("at_s", "subject", "bound", "failed")}
            flat[name] = result.value
            flat |= {f"{name}_{key}": value for key, value in extra.items() if value is not None and value != ""}
        return flat
