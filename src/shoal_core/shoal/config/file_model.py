"""The base of everything that is read from a file or set by an operator."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, model_validator

Vector = tuple[float, float, float]


class FileModel(BaseModel):
    """No unknown keys, no changes after loading, no NaN or infinity, no yes or no where a number belongs."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _no_switch_for_a_number(cls, data: Any) -> Any:
        """YAML reads `yes` and `on` as true, and pydantic would take true for 1."""
        for name, value in data.items() if isinstance(data, dict) else ():
            entries = value if isinstance(value, list | tuple) else (value,)
            field = cls.model_fields.get(name) if any(isinstance(entry, bool) for entry in entries) else None
            if field is not None and not _takes_bool(field.annotation):
                raise ValueError(f"{name} = {value}; expected a value other than yes or no")
        return data


def _takes_bool(annotation: Any) -> bool:
    return annotation in (bool, Any, object) or any(_takes_bool(argument) for argument in get_args(annotation))
