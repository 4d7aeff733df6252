"""The guide's pictures of Rerun: a fleet, a docking and a platform, simulated here and drawn by its own viewer.

    .venv/bin/python tools/rerun_pictures.py docs/images

Without rerun-sdk (requirements-view.txt) it says so and leaves the pictures that are there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from shoal.errors import ShoalError
from shoal.evaluation.joint_loads import joint_loads
from shoal.fleet.file import load_fleet
from shoal.recordings.recording import Recording
from shoal.reports import rerun_scene
from shoal.reports.rerun_picture import save_picture
from shoal.tasks.run import RunSpec, simulate

DOCK = RunSpec(task="dock", task_settings={"undock": True}, fleet="two", seed=1, duration_s=60.0)
PLATFORM = RunSpec(task="assemble", fleet="vessels3", condition="tank_offsets", seed=107)


def joined(run: Recording, fleet: str) -> tuple[float, float]:
    """When the first joint closed, and from when on as many as ever were."""
    loads = joint_loads(run, load_fleet(fleet))
    count = None if loads is None else np.isfinite(loads.force_N).sum(axis=1)
    if loads is None or count is None or not count.any():
        raise ShoalError(f"{fleet}: nobody was joined; expected a joint in the picture")
    return float(loads.times_s[np.argmax(count > 0)]), float(loads.times_s[np.argmax(count)])


def main(folder: Path) -> int:
    """The exit code."""
    if not rerun_scene.available():
        print(f"no pictures of Rerun: it is not installed; to get it: {rerun_scene.HOW_TO_GET_IT}")
        return 0
    fleet = simulate(RunSpec(path="circle", fleet="two", seed=1, duration_s=60.0))
    save_picture(fleet, folder / "rerun.png", 40.0)
    dock = simulate(DOCK)
    save_picture(dock, folder / "rerun_docking.png", joined(dock, "two")[0] - 2.0)
    platform = simulate(PLATFORM)
    save_picture(platform, folder / "rerun_platform.png", joined(platform, "vessels3")[1] + 3.0)
    print(f"{folder}/rerun.png, rerun_docking.png, rerun_platform.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")))
