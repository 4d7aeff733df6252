"""A fit of a real BlueROV2's motion, where that public data lies beside the clone: it has no licence.

KTH and Saab, single-axis steps under motion capture (github.com/SAABmarine-MEX/saabmarineMEX_learning). Only a run that
was used for training is touched: the others are kept for validation by hand (docs/identification.md).
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from shoal.identification.fit import FitSettings, fit
from shoal.identification.sources import read_motion
from shoal.identification.validation import replay_of_fit, replay_of_vehicle, validate_replay
from shoal.vehicles.description import load_vehicle

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "rov_motion"
STEPS = FOLDER / "kthsaab_11_57_50_3dof.csv"
AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")
COLUMNS = {
    "version": 1, "time": "t_s", "step_s": 0.1, "world": "NED", "body": "FRD", "most_tilt_deg": 45,
    "position_m": ["x", "y", "z"], "attitude": {"euler_rad": ["roll", "pitch", "yaw"]},
    "velocity_mps": ["u", "v", "w"], "rate_radps": ["p", "q", "r"],
    "commands": {"axes": {"columns": {axis: f"cmd_{axis}" for axis in AXES}, "voltage_V": 16}},
    "noise": {"position_m": 0.04, "attitude_deg": 3.0, "velocity_mps": 0.05, "rate_dps": 6.0},
}  # fmt: skip


@pytest.mark.skipif(not STEPS.is_file(), reason="the motion data is not beside this clone")
def test_a_fit_predicts_steps_that_it_has_not_seen(tmp_path: Path) -> None:
    columns, prior = tmp_path / "columns.yaml", load_vehicle("bluerov2_heavy", "von_benzon2022")
    columns.write_text(yaml.safe_dump(COLUMNS))
    pieces = [p for p in read_motion(STEPS, prior, columns=columns) if p.duration_s > 20]
    seen = [p.part(0, 0.6 * p.duration_s) for p in pieces]
    unseen = [p.part(0.6 * p.duration_s, p.duration_s) for p in pieces]
    # Roll and pitch are held by the autopilot, whose thrust was not logged; no voltage was, either.
    settings = FitSettings(
        window_s=2.0, thrust_scale_sigma=0.3, sag_sigma=0.3, delay_sigma_s=0.15, axes=(0, 1, 2, 5), unexcited=1.0,
        converged=0.05,
    )  # fmt: skip
    found = fit(seen, prior, settings=settings)
    fitted, described = (validate_replay(r, unseen, 8.0) for r in (replay_of_fit(found), replay_of_vehicle(prior)))
    r2, before = ([axis.r2 for axis in v.axes[:3]] for v in (fitted, described))  # yaw was not commanded
    assert min(r2) >= 0.8 and sum(r2) > sum(before), (r2, before)
