"""Settings of what is around a controller, and what it believes of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.estimation.ekf import EstimatorSettings
from shoal.estimation.model_adaptation import AdaptationSettings
from shoal.estimation.thruster_faults import ThrusterWatchSettings
from shoal.estimation.timing_bank import TimingBankSettings, TimingEstimate
from shoal.fleet.actuation import Actuation
from shoal.fleet.gate import GateSettings
from shoal.fleet.let_go import LetGoSettings
from shoal.fleet.monitor import MonitorSettings
from shoal.fleet.neighbours import NeighbourSettings
from shoal.fleet.oscillation import OscillationSettings
from shoal.vehicles.description import Vehicle


class AgentSettings(FileModel):
    """What is around a controller: estimator, gate, monitor, timing, neighbours. `runtime:` of a controller file."""

    estimator: EstimatorSettings = EstimatorSettings()
    neighbours: NeighbourSettings = NeighbourSettings()
    gate: GateSettings = GateSettings()
    monitor: MonitorSettings = MonitorSettings()
    timing: TimingBankSettings = TimingBankSettings()
    oscillation: OscillationSettings = OscillationSettings()
    let_go: LetGoSettings = LetGoSettings()
    adaptation: AdaptationSettings = AdaptationSettings()
    thrusters: ThrusterWatchSettings = ThrusterWatchSettings()
    thruster_lead: float = Field(default=2.0, ge=1, le=4, description="overdrive of thrust changes against the lag")
    moment_lead: float = Field(
        default=1.0, ge=1, le=4, description="the same of moments, at most thruster_lead: more costs delay margin"
    )


@dataclass(frozen=True)
class Timing:
    """What is believed of time: nominal values, never a run's draw."""

    period_s: float = 0.05
    actuation_delay_s: float = 0.0  # from the odometry to the thrust that answers it
    thruster_lag_s: float | None = None  # time constant; None: the vehicle description's mean


def make_actuation(vehicle: Vehicle, timing: Timing, settings: AgentSettings, compensates: bool) -> Actuation:
    """`compensates`: the controller wants a state predicted over lag and delay; or else it does not depend on them."""
    given_s = timing.thruster_lag_s
    lag_s = float(np.mean(vehicle.input_lag_s)) if given_s is None else given_s
    bank = settings.timing if compensates else settings.timing.model_copy(update={"enabled": False})
    configured, sigma_dps = TimingEstimate(lag_s, timing.actuation_delay_s), settings.estimator.rate_dps
    return Actuation(vehicle, configured, timing.period_s, settings.thruster_lead, sigma_dps, bank)
