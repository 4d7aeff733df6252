"""The step task: stepinfo's numbers, and vessels and platforms within their bounds, beside the thesis's controller."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.evaluation.metrics import summarise
from shoal.evaluation.step_response import StepInfo, step_info, step_of
from shoal.tasks.run import RunSpec, simulate


def _step(
    fleet: str, axis: str, controller: str, seed: int = 21, condition: str = "tank", duration_s: float = 32.0
) -> StepInfo:
    spec = RunSpec(
        fleet=fleet, condition=condition, controller=controller, seed=seed, task="step_response",
        task_settings={"axis": axis, "duration_s": duration_s},
    )  # fmt: skip
    recording = simulate(spec)
    found = step_of(recording)
    assert found is not None
    summary = summarise(recording)
    assert summary.metrics["overshoot"].value == pytest.approx(found.overshoot)
    return found


def test_step_info_of_a_second_order_system() -> None:
    t = np.linspace(0, 60, 60001)
    zeta, w = 0.4, 1.0
    wd = w * np.sqrt(1 - zeta**2)
    y = 1 - np.exp(-zeta * w * t) * (np.cos(wd * t) + zeta / np.sqrt(1 - zeta**2) * np.sin(wd * t))
    info = step_info(t, 3 + 2 * y, 3.0, 5.0)
    assert info.overshoot == pytest.approx(np.exp(-np.pi * zeta / np.sqrt(1 - zeta**2)), rel=1e-4)
    assert info.peak_s == pytest.approx(np.pi / wd, rel=1e-3)
    assert info.settling_s == pytest.approx(t[np.flatnonzero(np.abs(y - 1) > 0.05)[-1] + 1])
    assert info.rise_s == pytest.approx(1.463, rel=1e-3)  # of this damping, from 10 to 90 %
    assert info.steady_error < 1e-9
    assert np.isnan(step_info(t[:2000], 3 + 2 * y[:2000], 3.0, 5.0).settling_s)


@pytest.mark.parametrize("fleet", ["vessel", "vessels_3x1"])
@pytest.mark.parametrize("axis", ["surge", "sway", "yaw"])
def test_ours_within_its_bounds(fleet: str, axis: str) -> None:
    info = _step(fleet, axis, "nmpc_vessel")
    assert info.overshoot <= 0.05
    assert info.settling_s <= 10.0


def test_a_platform_learns_as_soon_as_a_vessel_that_its_thrust_is_weak() -> None:
    """With a wander of the wrench in newtons, found for one vessel, it went 6.0 % over and settled after 12.4 s."""
    info = _step("vessels_3x1", "sway", "nmpc_vessel", seed=20, condition="tank_weak", duration_s=18.0)
    assert info.overshoot <= 0.05
    assert info.settling_s <= 10.0


def test_the_thesis_controller_overshoots_as_it_did_in_the_tank() -> None:
    info = _step("vessel", "surge", "platform_pid")
    assert 0.2 < info.overshoot < 0.5
    assert 15.0 < info.settling_s < 45.0 or np.isnan(info.settling_s)


def test_one_vehicle_only() -> None:
    with pytest.raises(ShoalError, match="expected one"):
        simulate(RunSpec(fleet="two", task="step_response"))
