"""The theses' procedures on synthetic data: what they recover, and the biases that they name."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from shoal.cli import app
from shoal.identification.procedures import (
    bollard_pull,
    free_decay,
    heave_least_squares,
    kinematic_filter,
    open_loop_yaw,
    rules,
    thruster_inflow,
    towing_tank,
)
from shoal.identification.procedures.finding import Finding


def _ratios(findings: list[Finding]) -> dict[str, float]:
    return {f.name: f.found / f.true for f in findings if f.true}


def test_bollard_pull_recovers_the_thrust_polynomial() -> None:
    assert all(r == pytest.approx(1, abs=0.02) for r in _ratios(bollard_pull.demonstrate(1)).values())
    fit = bollard_pull.ThrustFit(3.123e-2, 2.52e-4, 1.0)
    thrust = fit.thrust_N(np.arange(1500.0, 1901.0))
    assert (np.diff(thrust) >= 0).all() and (thrust[:25] == 0).all() and thrust[25] > 0
    assert fit.thrust_N(np.array([1700.0]))[0] == pytest.approx(16.3, abs=0.05)


def test_towing_recovers_table_5_2_and_its_extrapolated_rows() -> None:
    ratios = _ratios(towing_tank.demonstrate(1))
    assert ratios.pop("surge quadratic") == pytest.approx(1, abs=0.02)
    assert ratios.pop("heave quadratic") == pytest.approx(1, abs=0.02)
    assert all(r == pytest.approx(1, abs=0.003) for r in ratios.values())
    forces = towing_tank.combined_force(np.array([5.0]), np.array([6.0]), np.array([2.0]), np.pi / 3)
    assert forces[0] == pytest.approx(10.0)


def test_fusion_equals_weighted_least_squares() -> None:
    rng = np.random.default_rng(2)
    means, variances = rng.normal(3, 1, 6), rng.uniform(0.1, 2, 6)
    value, variance = towing_tank.fuse(means, variances)
    weights = np.diag(1 / variances)
    ones = np.ones((6, 1))
    normal = ones.T @ weights @ ones
    assert value == pytest.approx(float(np.linalg.solve(normal, ones.T @ weights @ means)[0]))
    assert variance == pytest.approx(float(np.linalg.inv(normal)[0, 0]))


def test_the_brackets_drag_is_taken_off_and_negative_drag_is_not_found() -> None:
    speed = np.linspace(0.1, 1, 10)
    hull = towing_tank.drag(speed, 34.96, 0.0)
    with_bracket = hull + towing_tank.drag(speed, *towing_tank.BRACKET)
    assert towing_tank.without_bracket(speed, with_bracket) == pytest.approx(hull)
    assert towing_tank.fit_drag(speed, hull - 0.5 * speed, np.ones(10))[1] == pytest.approx(0, abs=1e-9)


def test_thrust_falls_with_inflow_and_the_fit_finds_how() -> None:
    assert all(r == pytest.approx(1, abs=0.02) for r in _ratios(thruster_inflow.demonstrate(1)).values())
    w, alpha = np.full(2, 200.0), (0.45, -0.5)
    still, under_way = thruster_inflow.thrust_N(w, np.array([0.0, 0.5]), alpha, 0.076)
    assert under_way < still
    # (5.6), (5.7), (5.9): the same through K_T and J.
    k_t = alpha[0] + alpha[1] * 2 * np.pi * 0.5 / (200 * 0.076)
    assert under_way == pytest.approx(k_t * 1000 * 200**2 * 0.076**4 / (4 * np.pi**2))


def test_the_kalman_filter_gives_velocity_through_a_gap() -> None:
    assert all(r == pytest.approx(1, abs=0.02) for r in _ratios(kinematic_filter.demonstrate(1)).values())
    t = np.arange(0, 4, 0.005)
    line = np.stack([0.3 * t, -0.2 * t], axis=1)
    line[500:540] = np.nan
    found = kinematic_filter.filtered(line)
    assert found[-1, 2:] == pytest.approx([0.3, -0.2], abs=1e-3)
    assert found[539, :2] == pytest.approx([0.3 * t[539], -0.2 * t[539]], abs=1e-3)


def test_yaw_drag_is_right_and_inertia_is_biased_by_lag() -> None:
    found = {f.name: f for f in open_loop_yaw.demonstrate(1)}
    for label in ("no lag", "lag 0.12 s, delay 0.06 s"):
        assert found[f"yaw quadratic drag ({label})"].found == pytest.approx(2.42, abs=0.1)
    assert found["yaw inertia (no lag)"].found == pytest.approx(1.12, rel=0.08)
    late = found["yaw inertia (lag 0.12 s, delay 0.06 s)"]
    assert late.found > 1.15 * 1.12 and "too large" in late.caution


def test_heave_least_squares_finds_drag_and_underrates_the_mass() -> None:
    beta, rng = (46.10, 49.50, 113.86), np.random.default_rng(1)
    clean = [heave_least_squares.cropped(heave_least_squares.heave_run(f, beta, rng, 0.0)) for f in (15, 30, 45)]
    found = heave_least_squares.fit_heave(clean)
    assert found == pytest.approx(beta, rel=0.06)
    assert all(heave_least_squares.relative_error(run, found) < 0.05 for run in clean)
    ratios = _ratios(heave_least_squares.demonstrate(1))
    for way in ("dive", "rise"):
        assert ratios[f"{way} drag at 0.3 m/s"] == pytest.approx(1, abs=0.06)
        assert ratios[f"{way} mass with added mass"] < 0.9


def test_rules_give_the_numbers_that_the_theses_print() -> None:
    assert all(r == pytest.approx(1, abs=0.005) for r in _ratios(rules.demonstrate(0)).values())
    assert rules.quadratic_drag(0.1, 0.0707) == pytest.approx(3.535)
    assert rules.rotational_linear_drag(0.053, 0.13, 0.0074, 1.6) == pytest.approx(0.048, abs=0.003)


def test_free_decay_finds_buoyancy_drag_and_equilibrium() -> None:
    found = {f.name: f for f in free_decay.demonstrate(1)}
    assert found["equilibrium"].found == pytest.approx(-34.2, abs=0.5)
    assert found["r_y of B"].found == pytest.approx(-0.0016, abs=1e-4)
    assert found["r_z of B"].found == pytest.approx(-0.00886, abs=1e-4)
    assert found["quadratic drag"].found == pytest.approx(9.2889, rel=0.1)


def test_the_command_shows_what_biases_a_procedure() -> None:
    answer = CliRunner().invoke(app, ["procedure", "rules"])
    assert answer.exit_code == 0 and "expect factors of" in answer.output
    answer = CliRunner().invoke(app, ["procedure", "towing_tnak"])
    assert answer.exit_code == 2 and "did you mean 'towing_tank'" in answer.output
