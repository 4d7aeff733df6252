"""Two BlueROVs and a bracket: what Nielsen 2018 prints of the trials, as far as what was lost allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.assembly.file import load_assembly
from shoal.errors import ShoalError
from shoal.simulation.bracket_trials import pair, straight, turning


def test_straight_ahead_at_about_the_printed_speed() -> None:
    found = straight(pair(), 300.0)
    assert found.speed_mps == pytest.approx(0.9, abs=0.05)
    assert found.travelled_m == pytest.approx(8.0, abs=0.5)


def test_one_vehicle_alone_turns_the_pair_in_a_circle_of_about_the_printed_size() -> None:
    damped, free = (turning(pair(bracket_yaw=b), 200.0) for b in (True, False))
    for found in (damped, free):
        assert 0.75 * 2.42 < found.width_north_m < 1.25 * 2.42
        assert found.width_north_m == pytest.approx(found.width_east_m, rel=0.02)
        assert 0.75 * 8.5 < found.half_turn_s < 1.25 * 8.5
        assert found.yaw_rate_radps > 0  # to starboard
    assert damped.width_north_m > free.width_north_m + 0.3 and damped.half_turn_s > free.half_turn_s + 1.0


def test_the_bracket_is_a_module_without_thrusters_that_weighs_and_drags() -> None:
    composite = load_assembly("bluerov_bracket").composite()
    share = composite.inputs["bracket"]
    assert share.start == share.stop and composite.vehicle.input_count == 12
    assert composite.vehicle.mass_kg == pytest.approx(2 * 11.5 + 2.0)
    assert composite.vehicle.quadratic_damping[0, 0] == pytest.approx(2 * 34.96 + 17.96)


def test_a_body_and_a_type_at_once_are_refused(tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[3] / "config/assemblies/bluerov_bracket.yaml").read_text(encoding="utf-8")
    bad = tmp_path / "bad.yaml"
    bad.write_text(text.replace("  bracket:\n    body:", "  bracket:\n    type: bluerov2\n    body:"), encoding="utf-8")
    with pytest.raises(ShoalError, match=r"body and type are given; expected a vehicle type or a body"):
        load_assembly(bad)
