"""A fit of a real BlueROV2's motion, where that data lies beside the clone or in SHOAL_MOTION_DATA: it has no licence.

KTH and Saab, single-axis steps under motion capture (github.com/SAABmarine-MEX/saabmarineMEX_learning): only a run that
was used for training is touched. Figures, of piloted runs too: docs/identification.md; column maps: `examples/`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shoal.identification.fit import FitSettings, fit
from shoal.identification.motion_data import MotionData
from shoal.identification.sources import read_motion
from shoal.identification.validation import replay_of_fit, replay_of_vehicle, validate_replay
from shoal.vehicles.description import load_vehicle

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("SHOAL_MOTION_DATA", ROOT.parent / "shared" / "data" / "rov_motion"))
PRIOR = load_vehicle("bluerov2_heavy", "von_benzon2022")
# Roll and pitch are held by an autopilot whose thrust was not logged; no voltage was, either.
SETTINGS = FitSettings(
    window_s=2.0, thrust_scale_sigma=0.3, sag_sigma=0.3, delay_sigma_s=0.15, axes=(0, 1, 2, 5), unexcited=1.0,
    converged=0.05,
)  # fmt: skip
there = pytest.mark.skipif(not FOLDER.is_dir(), reason="the motion data is not beside this clone")


def _read(name: str, columns: str) -> list[MotionData]:
    return read_motion(FOLDER / f"{name}.csv", PRIOR, columns=ROOT / "examples" / f"{columns}.yaml")


@there
def test_a_fit_predicts_steps_that_it_has_not_seen() -> None:
    pieces = [p for p in _read("kthsaab_11_57_50_3dof", "log_steps") if p.duration_s > 20]
    seen = [p.part(0, 0.6 * p.duration_s) for p in pieces]
    unseen = [p.part(0.6 * p.duration_s, p.duration_s) for p in pieces]
    found = fit(seen, PRIOR, settings=SETTINGS)
    fitted, described = (validate_replay(r, unseen, 8.0) for r in (replay_of_fit(found), replay_of_vehicle(PRIOR)))
    r2, before = ([axis.r2 for axis in v.axes[:3]] for v in (fitted, described))  # yaw was not commanded
    assert min(r2) >= 0.8 and sum(r2) > sum(before), (r2, before)
