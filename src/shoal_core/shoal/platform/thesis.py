"""The controller of Boogmans 2021, sections 5.2 to 5.4: three PIDs scaled by the configuration, closed-form allocation.

What its text says and what its code does differ in three places (spec errata E7 to E9). The defaults are what is meant;
`Legacy` switches each to what was most likely run in the tank.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.platform.model import PlatformModel, rotation, wrapped

Array = NDArray[np.float64]
FORCE_PER_REV_Ns = 0.0018  # F = 0.0018 n
DEAD_BAND_RPS, MOST_RPS = 8.0, 100.0
THRUST_N = 0.2160  # at 120 rev/s: with this Table 6.8 counts, though the code limits speed to 100 rev/s
# The single vessel, for which the base gains were found (Table 6.8).
REFERENCE_FORCE_N, REFERENCE_MASS_KG = 0.432, 4.1275
REFERENCE_MOMENT_Nm, REFERENCE_INERTIA_KGM2 = 0.06696, 0.1410


class Legacy(FileModel):
    """How its code differs from its text."""

    derivative: bool = Field(
        default=False, description="E8: the PID forgets its last error, so that D acts as K_d e / dt and I not at all"
    )
    limits_bypassed: bool = Field(default=False, description="E9: neither dead band nor 100 rev/s are applied")
    damping_exponent: float = Field(
        default=1.0, ge=0, le=2, description="E7: K_d = K_d,base τ_max / C^this; 0.5 keeps the damping ratio"
    )


class BaseGains(FileModel):
    """Of a single vessel, per unit of the largest force or moment (Table 5.5)."""

    p_per_m: float = Field(default=1.0, ge=0, description="proportional, of position")
    i_per_ms: float = Field(default=0.0, ge=0, description="integral, of position")
    d_spm: float = Field(default=0.0, ge=0, description="derivative, of position")
    p_per_rad: float = Field(default=0.70 / (np.pi / 2), ge=0, description="proportional, of heading")
    i_per_rads: float = Field(default=0.0, ge=0, description="integral, of heading")
    d_sprad: float = Field(default=0.15, ge=0, description="derivative, of heading")


@dataclass(frozen=True)
class Gains:
    """Absolute ones, of a configuration."""

    p: Array  # (3,) N/m, N/m, N m/rad
    i: Array
    d: Array
    time_factor: Array  # (3,) C_c


def time_factors(model: PlatformModel) -> tuple[float, float]:
    """C_c = (F_c I_ref)/(F_ref I_c) of translation and rotation (5.16).

    (6.5) quotes 1.2980 for the turning of three vessels: the inverse, as a ratio of times.
    """
    translation = model.max_force_N * REFERENCE_MASS_KG / (REFERENCE_FORCE_N * model.mass_kg)
    turning = model.max_moment_Nm * REFERENCE_INERTIA_KGM2 / (REFERENCE_MOMENT_Nm * model.inertia_kgm2)
    return translation, turning


def gains(model: PlatformModel, base: BaseGains, legacy: Legacy) -> Gains:
    """(5.17), (5.19 with K_i), (5.21)."""
    c_xy, c_psi = time_factors(model)
    factor = np.array([c_xy, c_xy, c_psi])
    most = np.array([model.max_force_N, model.max_force_N, model.max_moment_Nm])
    p = np.array([base.p_per_m, base.p_per_m, base.p_per_rad]) * most
    i = np.array([base.i_per_ms, base.i_per_ms, base.i_per_rads]) * most * factor
    d = np.array([base.d_spm, base.d_spm, base.d_sprad]) * most / factor**legacy.damping_exponent
    return Gains(p, i, d, factor)


@dataclass
class Pid:
    """Three of them side by side; `forgetful` as in E8."""

    gains: Gains
    forgetful: bool = False
    _sum: Array = field(default_factory=lambda: np.zeros(3))
    _last: Array | None = None

    def step(self, error: Array, dt_s: float) -> Array:
        """(3,) force and moment; nothing when no time has passed."""
        if dt_s <= 0:
            return np.zeros(3)
        if self.forgetful:
            return self.gains.p * error + self.gains.i * dt_s * error + self.gains.d * error / dt_s
        self._sum = self._sum + dt_s * error
        slope = np.zeros(3) if self._last is None else error - self._last
        slope[2] = wrapped(slope[2])
        self._last = error.copy()
        return np.asarray(self.gains.p * error + self.gains.i * self._sum + self.gains.d * slope / dt_s)

    def forget(self) -> None:
        """Another configuration, or somebody else has steered."""
        self._last = None


def factors(model: PlatformModel) -> tuple[float, float]:
    """C_f = 1/n and C_m = 1/Σ r² (5.32, 5.33)."""
    return 1.0 / len(model.levers_m), 1.0 / float(np.sum(model.levers_m**2))


def allocate(model: PlatformModel, force_N: Array, moment_Nm: float) -> Array:
    """(n,2) forces of the thrusters in platform axes (5.35, 5.28, 5.36): equal shares, moments by the lever.

    Where the thrusters' middle is not the centre of gravity, forces and moments leak into each other.
    """
    c_f, c_m = factors(model)
    x, y = model.levers_m.T
    return np.asarray(c_f * force_N + c_m * moment_Nm * np.column_stack([-y, x]))


def resultant(model: PlatformModel, forces_N: Array) -> Array:
    """(3,) what forces (n,2) amount to: F and the moment about the centre of gravity (5.24)."""
    x, y = model.levers_m.T
    return np.array([*forces_N.sum(axis=0), float(x @ forces_N[:, 1] - y @ forces_N[:, 0])])


def commanded(forces_N: Array, bypassed: bool) -> Array:
    """(n,2) after dead band and largest speed of the propellers (S8), direction kept; `bypassed` as in E9."""
    if bypassed:
        return forces_N
    size = np.linalg.norm(forces_N, axis=1)
    speed = size / FORCE_PER_REV_Ns
    allowed = np.where(speed <= DEAD_BAND_RPS, 0.0, np.minimum(speed, MOST_RPS)) * FORCE_PER_REV_Ns
    return np.asarray(forces_N * (allowed / np.maximum(size, 1e-12))[:, None])


def effort(pid: Pid, error_world: Array, heading_rad: float, dt_s: float) -> tuple[Array, float]:
    """Force in platform axes (2,) and moment: the PIDs act on errors in the world's axes (5.1 to 5.4)."""
    wanted = pid.step(error_world, dt_s)
    return rotation(-heading_rad) @ wanted[:2], float(wanted[2])
