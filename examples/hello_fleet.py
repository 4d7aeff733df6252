"""Swim a fleet, vary what it swims in, look at the results. Run it: python examples/hello_fleet.py"""

from __future__ import annotations

import shoal


def main() -> None:
    run = shoal.simulate(path="circle", fleet="two", condition="default", seed=1, duration_s=20.0)
    print(shoal.summarise(run).failure or "passed")
    shoal.plot(run, "hello_fleet.png")

    # The same run with more and more plans lost, three seeds each: six runs as a table, one row each.
    specs = shoal.vary(
        shoal.RunSpec(path="circle", fleet="two", duration_s=10.0),
        {"condition.link.loss": [0.0, 0.7], "seed": range(3)},
    )
    rows = shoal.rows(shoal.simulate(spec) for spec in specs)
    print(rows.groupby("condition")[["fov_max_deg", "distance_min_m", "rmse_m"]].max())

    # One vehicle's time series as a pandas frame, all of them as an xarray data set.
    print(shoal.recording_frame(run, "rov1")[["n_m", "e_m", "d_m"]].tail(3))
    print(shoal.recording_dataset(run).position_m.isel(time=-1).to_pandas())


if __name__ == "__main__":
    main()
