"""The verdict on one run: what `summary.json`, `shoal simulate --json` and a campaign's rows hold."""

from __future__ import annotations

from shoal.config.file_model import FileModel


class SolveTimes(FileModel):
    """Milliseconds per control step and vehicle, as measured on the machine that ran it."""

    median: float | None
    p99: float | None
    max: float | None


class Summary(FileModel):
    """None: does not apply (no pair that must see, one vehicle), or cannot be told (time shift of a lost run)."""

    path: str
    fleet: str
    condition: str
    controller: str
    seed: int
    vehicles: int
    duration_s: float

    failed: bool  # any of those below
    failure: str  # which, where and when, in words; empty when it passed
    fov_failed: bool
    distance_failed: bool
    path_failed: bool
    broken: bool  # a state that is not a number
    goal: str  # what else the run had to reach, in words; empty for paths
    goal_s: float | None  # from when on it held for good
    goal_missed: bool

    fov_max_deg: float | None
    fov_max_at_s: float | None
    fov_max_pair: str | None
    fov_soft_share: float | None  # share of instants with any pair beyond the soft angle
    distance_min_m: float | None
    distance_min_at_s: float | None
    distance_min_pair: str | None
    distance_max_m: float | None

    time_shift_s: tuple[float | None, float | None, float | None]  # x, y, z: least-squares lag; 0 where nothing moves
    time_shift_measured: tuple[bool, bool, bool]  # False where the reference stands still or no lag explains the run
    time_shift_peak_s: tuple[float | None, float | None, float | None]  # the thesis's peak to peak
    rmse_whole_m: float | None  # formation centroid against the common setpoint, whole run
    # The same from `settle_s` on. Start poses are drawn up to 2 m off the path: how far is the seed's doing, not the
    # controller's, and over a whole run it would hide all else.
    rmse_m: float | None
    path_error_max_m: float | None  # largest centroid error after `settle_s`
    settle_s: float

    fallbacks: int  # control steps not in the normal mode, over all vehicles
    fallback_share: float
    warnings: dict[str, float]  # what controllers said while they steered: share of control steps, over all vehicles
    slack_max: float | None
    neighbour_age_max_s: float | None
    thrust_rms_N: float | None  # per thruster

    solve_ms: SolveTimes
    wall_s: float | None
    real_time_factor: float | None  # simulated seconds per wall second
    code_version: str
