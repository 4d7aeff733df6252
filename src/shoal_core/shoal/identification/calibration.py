"""What belongs to the day and not to the hull: ballast, thrust scale, delay and sag, found for a set that else stays.

Published sets look far worse than they are when they are compared without these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.identification.fit import FitSettings, fit
from shoal.identification.measured_point import POINT
from shoal.identification.motion_data import MotionData
from shoal.identification.validation import COMPARED, Replay, replay_of_fit
from shoal.vehicles.description import Vehicle

OF_THE_DAY = ("net weight", "thrust scale", "delay")


def calibrated(
    vehicle: Vehicle,
    training: Sequence[MotionData],
    name: str = "",
    sag_sigma: float = 0.0,
    tilt_measured: bool = False,
    point_sigma_m: float = 0.0,
) -> Replay:
    """The set with the training runs' ballast, thrust scale and delay; with their sigmas, sag and odometry's point."""
    only = (*OF_THE_DAY, *(("sag",) if sag_sigma > 0 else ()), *(POINT if point_sigma_m > 0 else ()))
    settings = replace(FitSettings(), thrust_scale_sigma=1.0, sag_sigma=sag_sigma, only=only, unexcited=1.0)
    settings = replace(settings, point_sigma_m=point_sigma_m)
    if tilt_measured:
        settings = replace(settings, axes=COMPARED, tilt_measured=True)
    return replay_of_fit(fit(training, vehicle, settings=settings), name or vehicle.parameter_set)
