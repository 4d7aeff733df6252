"""A condition of one's own, from a file and changed in place. The file alone: shoal simulate --condition FILE"""

from __future__ import annotations

from pathlib import Path

import shoal

FILE = Path(__file__).with_name("my_condition.yaml")


def main() -> None:
    harsh = shoal.load_condition(FILE)
    specs = shoal.vary(
        shoal.RunSpec(condition=harsh, seed=1, duration_s=15.0),
        {"condition.link.loss": [0.3, 0.9], "condition.plant.mass_scale": [1.0, 1.1]},
    )
    rows = shoal.rows(shoal.simulate(spec) for spec in specs)
    print(rows[["condition", "failed", "fov_max_deg", "distance_min_m", "neighbour_age_max_s"]].to_string())


if __name__ == "__main__":
    main()
