"""How large a vehicle is beside the one that the default settings were found for.

Settings in newtons are written for a BlueROV2 Heavy with 16.6 N a thruster; these factors are for any
other vehicle, unless a file gives another number than the default: that is taken as it is. Which factor belongs to a
setting stands beside it (`scales_with`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from pydantic.fields import FieldInfo

from shoal.config.file_model import FileModel
from shoal.vehicles.description import Vehicle

Settings = TypeVar("Settings", bound=FileModel)
INPUTS, INPUT_N, LEVER_M = 8, 16.6, 0.23  # of the BlueROV2 Heavy
ALIKE = 4.0  # vehicles that differ by less than this factor are steered with the same numbers


def scales_with(factor: str) -> dict[str, Any]:
    """To be handed to `Field` as `json_schema_extra`: the attribute of `VehicleScale` that a setting goes with."""
    return {"scales_with": factor}


@dataclass(frozen=True)
class VehicleScale:
    """Factors on settings; all of them are one for the BlueROV2 Heavy, with any of its thrust limits."""

    force: float  # of all inputs together
    moment: float
    input: float  # force of one input
    per_input2: float  # cost per squared force of an input: full thrust of all inputs costs the same

    @staticmethod
    def of(vehicle: Vehicle) -> VehicleScale:
        """From limits, levers and number of inputs: mass and weight may be described wrongly by factors."""
        limits_N = (vehicle.input_max_N - vehicle.input_min_N) / 2
        levers_m = np.linalg.norm(vehicle.input_matrix[3:], axis=0)
        more = max(1.0, vehicle.input_count / INPUTS)
        one = beyond_alike(float(limits_N.mean()) / INPUT_N)
        moment_Nm = float(limits_N @ levers_m) / (INPUTS * INPUT_N * LEVER_M)
        return VehicleScale(
            force=one * more,
            moment=beyond_alike(moment_Nm),
            input=one,
            per_input2=1.0 / (one**2 * more),
        )

    def fit(self, settings: Settings) -> Settings:
        """The settings for a vehicle of this scale."""
        changes: dict[str, Any] = {}
        for name, field in type(settings).model_fields.items():
            value = getattr(settings, name)
            if isinstance(value, FileModel):
                fitted = self.fit(value)
                if fitted is not value:
                    changes[name] = fitted
            elif (factor := self._factor(field)) != 1.0 and value == field.default:
                changes[name] = value * factor
        return settings.model_copy(update=changes) if changes else settings

    def _factor(self, field: FieldInfo) -> float:
        extra = field.json_schema_extra
        name = extra.get("scales_with") if isinstance(extra, dict) else None
        return 1.0 if name is None else float(getattr(self, str(name)))


def beyond_alike(ratio: float) -> float:
    """1 within the factor `ALIKE`, the ratio itself from its square on, and steadily from one to the other."""
    size, alike = abs(math.log(max(ratio, 1e-12))), math.log(ALIKE)
    grown = 0.0 if size <= alike else min(2 * (size - alike), size)
    return math.exp(math.copysign(grown, math.log(max(ratio, 1e-12))))
