"""The base of everything that is read from a file or set by an operator."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Vector = tuple[float, float, float]


class FileModel(BaseModel):
    """No unknown keys, no changes after loading, no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
