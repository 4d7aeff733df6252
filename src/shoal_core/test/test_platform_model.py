"""The platform's planar model and the controller of Boogmans 2021: its own numbers, exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.assembly.file import load_assembly
from shoal.errors import ShoalError
from shoal.platform.assembly import assembly_of
from shoal.platform.blueprint import load_blueprint
from shoal.platform.controller import planar_model
from shoal.platform.model import Module, PlanarPose, compose, platform_pose, wrapped
from shoal.platform.thesis import (
    THRUST_N,
    BaseGains,
    Legacy,
    Pid,
    allocate,
    commanded,
    factors,
    gains,
    resultant,
    time_factors,
)
from shoal.vehicles.allocation import Allocator
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.parameters import mass_matrix

DELFIA = Module.of(load_vehicle("delfia1"), THRUST_N)
SINGLE = compose({"a": DELFIA}, {"a": PlanarPose()})
ROW = {"v2": PlanarPose(), "v1": PlanarPose(0, -0.2), "v3": PlanarPose(0, 0.2)}
THREE = compose(dict.fromkeys(ROW, DELFIA), ROW)
CORNER = {"a": PlanarPose(), "b": PlanarPose(0, 0.2), "c": PlanarPose(0.29, 0.1, np.pi / 2)}
L_SHAPE = compose(dict.fromkeys(CORNER, DELFIA), CORNER)
angles = st.floats(-3, 3)
places = st.builds(PlanarPose, st.floats(-1, 1), st.floats(-1, 1), angles)


def test_table_6_8() -> None:
    assert (SINGLE.mass_kg, SINGLE.inertia_kgm2) == pytest.approx((4.1275, 0.1410))
    assert (SINGLE.max_force_N, SINGLE.max_moment_Nm) == pytest.approx((0.4320, 0.06696))
    assert (THREE.mass_kg, THREE.inertia_kgm2) == pytest.approx((12.3825, 0.70908))
    assert THREE.max_force_N == pytest.approx(1.2960)
    assert THREE.max_moment_Nm == pytest.approx(0.25964, abs=5e-6)
    assert THREE.max_moment_as_printed_Nm == pytest.approx(0.28558, abs=5e-6)  # (5.13), not what its table has
    assert THREE.cg_m == pytest.approx([0, 0])


def test_factors_and_gains() -> None:
    assert factors(SINGLE) == pytest.approx((1 / 2, 20.8117), rel=1e-5)
    assert factors(THREE) == pytest.approx((1 / 6, 3.28785), rel=1e-5)
    assert time_factors(THREE) == pytest.approx((1.0, 0.7710), abs=5e-5)
    alone, three = (gains(model, BaseGains(), Legacy()) for model in (SINGLE, THREE))
    assert alone.p == pytest.approx([0.432, 0.432, 0.02984], abs=5e-6)
    assert alone.d == pytest.approx([0, 0, 0.010044], abs=5e-7)
    assert three.p == pytest.approx([1.296, 1.296, 0.11570], abs=5e-6)
    assert three.d == pytest.approx([0, 0, 0.05051], abs=5e-6)
    with_i = gains(THREE, BaseGains(i_per_rads=0.1), Legacy())
    assert with_i.i[2] == pytest.approx(0.1 * THREE.max_moment_Nm * time_factors(THREE)[1])  # (5.19) with K_i


def test_the_frame_may_be_any_members() -> None:
    from_v1 = compose(dict.fromkeys(ROW, DELFIA), {n: PlanarPose(0, p.y_m + 0.2) for n, p in ROW.items()})
    assert from_v1.cg_m == pytest.approx([0, 0.20])
    assert from_v1.mass_at_cg == pytest.approx(THREE.mass_at_cg)


def test_l_shape_leaks_and_the_bounded_allocation_does_not() -> None:
    assert L_SHAPE.cg_m == pytest.approx([0.08018, 0.1], abs=5e-6)
    assert np.diag(L_SHAPE.mass_at_cg) == pytest.approx([11.831, 12.934, 0.7121], abs=5e-4)
    assert np.linalg.norm(L_SHAPE.levers_m.mean(axis=0)) == pytest.approx(0.0165, abs=5e-5)
    got = resultant(L_SHAPE, allocate(L_SHAPE, np.array([1.0, 0.0]), 0.1))
    assert got == pytest.approx([1.0, 0.0332, 0.1], abs=5e-5)
    x, y = L_SHAPE.levers_m.T
    one, zero = np.ones(len(x)), np.zeros(len(x))
    matrix = np.vstack([np.ravel([one, zero], "F"), np.ravel([zero, one], "F"), np.ravel([-y, x], "F")])
    exact = np.linalg.pinv(matrix) @ np.array([1.0, 0.0, 0.1])
    assert matrix @ exact == pytest.approx([1.0, 0.0, 0.1])


@given(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3), st.floats(-0.05, 0.05), st.sampled_from(["delfia1", "vessels_3x1"]))
@settings(max_examples=30, deadline=None)
def test_closed_form_is_the_least_norm_where_the_middles_coincide(fx: float, fy: float, m: float, which: str) -> None:
    vehicle = load_vehicle(which) if which == "delfia1" else load_assembly(which).composite().vehicle
    model = planar_model(vehicle, THRUST_N)
    closed = allocate(model, np.array([fx, fy]), m)
    assert resultant(model, closed) == pytest.approx([fx, fy, m], abs=1e-12)
    axes = [t.directions[:, :2] for t in vehicle.thrusters]
    inputs = np.concatenate([a @ f for a, f in zip(axes, closed, strict=True)])
    least = Allocator(vehicle).free_gain @ np.array([fx, fy, 0, 0, 0, m])
    assert inputs == pytest.approx(least, abs=1e-9)


@given(st.lists(places, min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_any_configuration_agrees_with_the_composite_body(chosen: list[PlanarPose]) -> None:
    named = {str(i): place for i, place in enumerate(chosen)}
    model = compose(dict.fromkeys(named, DELFIA), named)
    assert model.mass == pytest.approx(model.mass.T)
    assert (np.linalg.eigvalsh(model.mass) > 0).all()
    assert model.mass_at_cg[:2, 2] == pytest.approx([0, 0], abs=1e-9)
    assert model.mass_kg == pytest.approx(4.1275 * len(chosen))
    # The largest moment is what the allocation reaches with the farthest thruster at its limit.
    forces = allocate(model, np.zeros(2), model.max_moment_Nm)
    assert np.linalg.norm(forces, axis=1).max() == pytest.approx(THRUST_N)


def test_the_planar_part_of_the_composite_is_the_thesis_model() -> None:
    composite = load_assembly("vessels_3x1").composite()
    plane = np.ix_([0, 1, 5], [0, 1, 5])
    assert mass_matrix(composite.vehicle)[plane] == pytest.approx(THREE.mass)
    assert planar_model(composite.vehicle, THRUST_N).damping == pytest.approx(THREE.damping)


def test_a_blueprint_as_an_assembly_is_the_same_body(tmp_path: Path) -> None:
    file = tmp_path / "row3.yaml"
    file.write_text(yaml.safe_dump(assembly_of(load_blueprint("row3"))), encoding="utf-8")
    found, drawn = load_assembly(file).composite().vehicle, load_assembly("vessels_3x1").composite().vehicle
    assert mass_matrix(found) == pytest.approx(mass_matrix(drawn))
    assert found.input_count == drawn.input_count


def test_the_pose_comes_from_all_members() -> None:
    true = PlanarPose(1.0, -2.0, 0.7)
    members = {name: true.then(place) for name, place in CORNER.items()}
    found = platform_pose(members, CORNER)
    assert (found.x_m, found.y_m, found.heading_rad) == pytest.approx((1.0, -2.0, 0.7))
    off = {**members, "a": PlanarPose(members["a"].x_m + 0.03, members["a"].y_m, members["a"].heading_rad)}
    assert platform_pose(off, CORNER).x_m == pytest.approx(1.01)  # a third of what one of three is off
    del members["a"]  # not tracked: the others will do
    assert platform_pose(members, CORNER).y_m == pytest.approx(-2.0)
    with pytest.raises(ShoalError, match="no member"):
        platform_pose({}, CORNER)


def test_legacy_switches() -> None:
    error = np.array([0.5, -0.2, 0.3])
    meant, forgetful = (Pid(gains(SINGLE, BaseGains(), Legacy()), forgetful=f) for f in (False, True))
    assert meant.step(error, 0.1) == pytest.approx(meant.gains.p * error)  # no last error yet: no kick
    assert meant.step(error, 0.1) == pytest.approx(meant.gains.p * error)  # and none while the error stays
    assert forgetful.step(error, 0.1)[2] == pytest.approx((0.02984 + 0.10044) * 0.3, abs=1e-5)  # E8: K_d e / dt
    assert meant.step(error, 0.0) == pytest.approx(np.zeros(3))
    small, large = np.array([[0.0144 - 1e-6, 0.0]]), np.array([[0.0, 0.2160]])
    assert commanded(small, bypassed=False) == pytest.approx(np.zeros((1, 2)))
    assert commanded(large, bypassed=False) == pytest.approx(np.array([[0.0, 0.18]]))
    assert commanded(large, bypassed=True) == pytest.approx(large)  # E9
    damped = gains(THREE, BaseGains(), Legacy(damping_exponent=0.5))  # E7
    assert damped.d[2] == pytest.approx(0.05051 * np.sqrt(0.7710), abs=1e-5)


def test_a_platform_of_nobody_is_refused() -> None:
    with pytest.raises(ShoalError, match="at least one"):
        compose({}, {})
    with pytest.raises(ShoalError, match="azimuth"):
        Module.of(load_vehicle("bluerov2_heavy", "wu2018"))


@given(places, places)
def test_poses_compose(a: PlanarPose, b: PlanarPose) -> None:
    back = a.then(b).seen_from(a)
    assert (back.x_m, back.y_m) == pytest.approx((b.x_m, b.y_m), abs=1e-9)
    assert wrapped(back.heading_rad - b.heading_rad) == pytest.approx(0, abs=1e-9)
