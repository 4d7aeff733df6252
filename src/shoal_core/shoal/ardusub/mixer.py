"""The mixer of ArduSub for the frame "vectored 6DOF" (FRAME_CONFIG 2), from RC values to pulse widths.

Measured on ArduSub 4.5.7 and the same in the sources of 4.7; it does not linearise thrust. Effort is a share of the
pulse width's range, not of force.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
AXES = ("roll", "pitch", "yaw", "throttle", "forward", "lateral")
# RC channel (from 1) of each axis in MANUAL.
CHANNELS = (2, 1, 4, 3, 5, 6)
NEUTRAL_US, HALF_RANGE_US = 1500, 400
NEUTRAL_RC = (NEUTRAL_US,) * 6

# Rows: thrusters 1–8; columns: AXES. Positive throttle is up, forward ahead, lateral to starboard.
FACTORS = np.array(
    [
        [0, 0, 1, 0, -1, 1],
        [0, 0, -1, 0, -1, -1],
        [0, 0, -1, 0, 1, 1],
        [0, 0, 1, 0, 1, -1],
        [1, -1, 0, -1, 0, 0],
        [-1, -1, 0, -1, 0, 0],
        [1, 1, 0, -1, 0, 0],
        [-1, 1, 0, -1, 0, 0],
    ],
    dtype=float,
)
COUNT = len(FACTORS)
# Axes that are scaled together when one of their sums is beyond ±1: roll, pitch, throttle, and yaw, forward, lateral.
GROUPS = (np.array([0, 1, 3]), np.array([2, 4, 5]))


def efforts(axes: Array) -> Array:
    """Efforts (8,) in ±1 of axes (6,) in ±1: each group is divided by its largest sum if that is beyond 1."""
    found = np.zeros(COUNT)
    for group in GROUPS:
        share = FACTORS[:, group] @ axes[group]
        found += share / max(1.0, float(np.abs(share).max()))
    return np.clip(found, -1.0, 1.0)


def within_reach(axes: Array) -> Array:
    """The same axes (6,), each group scaled as the mixer would scale it."""
    found = np.array(axes, dtype=float)
    for group in GROUPS:
        found[group] /= max(1.0, float(np.abs(FACTORS[:, group] @ axes[group]).max()))
    return found


def pulse_widths_us(effort: Array, directions: Array | None = None) -> list[int]:
    """Pulse widths (8) of efforts: single precision, truncated, as in the autopilot. `directions`: MOT_n_DIRECTION."""
    turned = effort if directions is None else effort * directions
    widths = np.float32(NEUTRAL_US) + turned.astype(np.float32) * np.float32(HALF_RANGE_US)
    return [int(width) for width in widths]


def axes_of_rc(channels_us: Sequence[int], yaw_scale: float = 1.0) -> Array:
    """Axes (6,) of RC channels 1–6. `yaw_scale`: ACRO_YAW_P / 3.375, by which MANUAL multiplies yaw."""
    channels = np.clip(np.asarray(channels_us[:6], dtype=float), NEUTRAL_US - HALF_RANGE_US, NEUTRAL_US + HALF_RANGE_US)
    axes = (channels[[channel - 1 for channel in CHANNELS]] - NEUTRAL_US) / HALF_RANGE_US
    axes[2] = np.clip(axes[2] * yaw_scale, -1.0, 1.0)
    return np.asarray(axes)


def rc_of_axes(axes: Array) -> list[int]:
    """RC channels 1–6 in whole microseconds."""
    channels = [NEUTRAL_US] * 6
    for channel, axis in zip(CHANNELS, axes.tolist(), strict=True):
        channels[channel - 1] = NEUTRAL_US + round(HALF_RANGE_US * min(1.0, max(-1.0, axis)))
    return channels


def outputs_us(channels_us: Sequence[int], directions: Array | None = None, yaw_scale: float = 1.0) -> list[int]:
    """Pulse widths (8) that MANUAL makes of RC channels 1–6."""
    return pulse_widths_us(efforts(axes_of_rc(channels_us, yaw_scale)), directions)
