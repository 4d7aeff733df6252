"""Recordings as pandas frames and xarray data sets, with the names and units of the Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import ShoalError
from shoal.evaluation.metric import Metric
from shoal.evaluation.metrics import summarise
from shoal.messages.state import State
from shoal.recordings.parquet import STATE_COLUMNS
from shoal.recordings.recording import Recording

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

NED = ("n", "e", "d")


def recording_frame(recording: Recording, vehicle: str | None = None) -> pd.DataFrame:
    """One vehicle's time series, indexed by `t_s`; without a name all of them, indexed by (`vehicle`, `t_s`).

    Columns: the true state (`n_m … r_radps`, see `messages.state`), the same as measured (`measured_…`), the own
    setpoint (`setpoint_n_m …`), thrust (`thrust1_N …`; NaN where a vehicle has fewer), `solve_ms`, `mode`, `slack_max`,
    `neighbour_age_s` and the water (`current_n_mps …`). NED in m and m/s, body FRD in m/s and rad/s.
    """
    import pandas as pd

    if vehicle is None:
        frames = {name: recording_frame(recording, name) for name in recording.names}
        return pd.concat(frames, names=["vehicle", "t_s"])
    if vehicle not in recording.names:
        raise ShoalError(f"vehicle = '{vehicle}': not in the recording; expected one of {', '.join(recording.names)}")
    v, thrust = recording.names.index(vehicle), recording.thrust_N[vehicle]
    columns: dict[str, Any] = dict(zip(STATE_COLUMNS, recording.states[:, v].T, strict=True))
    columns |= {f"measured_{c}": x for c, x in zip(STATE_COLUMNS, recording.odometry[:, v].T, strict=True)}
    columns |= {f"setpoint_{c}_m": x for c, x in zip(NED, recording.setpoints_m[:, v].T, strict=True)}
    columns |= {f"thrust{i + 1}_N": x for i, x in enumerate(thrust.T)}
    columns |= {key: getattr(recording, key)[:, v] for key in ("solve_ms", "mode", "slack_max", "neighbour_age_s")}
    columns |= {f"current_{c}_mps": x for c, x in zip(NED, recording.current_mps[:, v].T, strict=True)}
    return pd.DataFrame(columns, index=pd.Index(recording.times_s, name="t_s"))


def recording_dataset(recording: Recording) -> xr.Dataset:
    """All vehicles: `position_m` (time, vehicle, ned), `velocity_mps` (time, vehicle, body), `thrust_N` (time, vehicle,
    thruster; NaN where a vehicle has fewer), and so on. What was run and the limits are attributes.
    """
    import xarray as xr

    each = ("time", "vehicle")
    variables: dict[str, Any] = {
        "setpoint_m": ((*each, "ned"), recording.setpoints_m),
        "current_mps": ((*each, "ned"), recording.current_mps),
        "reference_m": (("time", "ned"), recording.reference_m),
        "reference_velocity_mps": (("time", "ned"), recording.reference_velocity_mps),
        "thrust_N": ((*each, "thruster"), _padded_thrust(recording)),
    }
    for prefix, states in (("", State(recording.states)), ("measured_", State(recording.odometry))):
        variables |= {
            f"{prefix}position_m": ((*each, "ned"), states.position_m),
            f"{prefix}attitude": ((*each, "quaternion"), states.attitude),
            f"{prefix}velocity_mps": ((*each, "body"), states.velocity_mps),
            f"{prefix}rate_radps": ((*each, "body"), states.rate_radps),
        }
    variables |= {key: (each, getattr(recording, key)) for key in ("solve_ms", "mode", "slack_max", "neighbour_age_s")}
    coordinates = {
        "time": ("time", recording.times_s, {"units": "s"}),
        "vehicle": list(recording.names),
        "ned": list(NED),
        "quaternion": ["eta", "e1", "e2", "e3"],
        "body": ["forward", "starboard", "down"],
    }
    about = {key: value for key, value in asdict(recording.about).items() if value is not None}
    return xr.Dataset(variables, coordinates, about | recording.limits.model_dump())


def rows(recordings: Recording | Iterable[Recording], metrics: Sequence[str | Metric] = ()) -> pd.DataFrame:
    """One row per run: what was run, its verdict and all its metrics, named as in a campaign's `runs.parquet`."""
    import pandas as pd

    runs = [recordings] if isinstance(recordings, Recording) else recordings
    return pd.DataFrame([summarise(run, metrics).row() for run in runs])


def _padded_thrust(recording: Recording) -> Any:
    most = max(thrust.shape[1] for thrust in recording.thrust_N.values())
    padded = np.full((len(recording.times_s), len(recording.names), most), np.nan)
    for v, name in enumerate(recording.names):
        thrust = recording.thrust_N[name]
        padded[:, v, : thrust.shape[1]] = thrust
    return padded
