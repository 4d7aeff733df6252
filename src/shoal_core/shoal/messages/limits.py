"""What a fleet keeps between its vehicles: distance, and the angle at which they see each other."""

from __future__ import annotations

from pydantic import Field, model_validator

from shoal.config.file_model import FileModel


class Limits(FileModel):
    """Hard limits decide failure; soft ones are what the controller aims at."""

    distance_soft_m: float = Field(
        default=2.0, gt=0, le=100, description="distance between vehicles that is kept if possible"
    )
    distance_hard_m: float = Field(
        default=0.75, gt=0, le=100, description="distance between vehicles that is never to be broken"
    )
    sight_soft_deg: float = Field(
        default=30.0, gt=0, lt=180, description="angle off the bow within which a neighbour is kept if possible"
    )
    sight_hard_deg: float = Field(
        default=60.0, gt=0, lt=180, description="angle off the bow beyond which sight is lost"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Limits:
        if self.distance_soft_m < self.distance_hard_m:
            raise ValueError(
                f"distance_soft_m = {self.distance_soft_m} < distance_hard_m = {self.distance_hard_m}, expected ≥"
            )
        if self.sight_soft_deg > self.sight_hard_deg:
            raise ValueError(
                f"sight_soft_deg = {self.sight_soft_deg} > sight_hard_deg = {self.sight_hard_deg}, expected ≤"
            )
        return self
