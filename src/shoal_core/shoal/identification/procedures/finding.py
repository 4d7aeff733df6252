"""A procedure's answer on synthetic data, beside the number that the data were made with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One quantity."""

    name: str
    unit: str
    true: float
    found: float
    caution: str = ""  # what biases it
