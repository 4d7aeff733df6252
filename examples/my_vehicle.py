"""A vehicle of one's own, beside a BlueROV2 in one fleet. Look at it: shoal vehicle show examples/my_vehicle.yaml"""

from __future__ import annotations

from pathlib import Path

import shoal

FILE = Path(__file__).with_name("my_vehicle.yaml")


def mixed_fleet() -> shoal.Fleet:
    """Six thrusters and eight, face to face. The same as a file in config/fleets would be."""
    return shoal.Fleet.model_validate(
        {
            "version": 1,
            "name": "mixed",
            "formation": {"kind": "point", "spacing_m": 2.2},
            "vehicles": [
                {"name": "hexa", "type": str(FILE), "start_m": (0.0, -1.1, 5.0), "heading_deg": 90.0},
                {"name": "heavy", "type": "bluerov2_heavy", "start_m": (0.0, 1.1, 5.0), "heading_deg": -90.0,
                 "thrust_limit_N": 16.6},
            ],
        }
    )  # fmt: skip


if __name__ == "__main__":
    vehicle = shoal.load_vehicle(FILE)
    print(f"{vehicle.name}: {len(vehicle.thrusters)} thrusters, {vehicle.mass_kg:g} kg")
    # nmpc swims it as well; its solver for a new number of thrusters is compiled once, which takes a while.
    run = shoal.simulate(path="line", fleet=mixed_fleet(), controller="pid", seed=1, duration_s=20.0)
    print({name: thrust.shape[1] for name, thrust in run.thrust_N.items()}, shoal.summarise(run).failure or "passed")
