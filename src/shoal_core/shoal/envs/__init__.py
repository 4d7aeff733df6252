"""Environments for learning: the plant, tasks and conditions that everything else is judged on.

from shoal.envs import FleetEnv, VehicleEnv
env = VehicleEnv(path="circle", condition="default")       # Gymnasium, one vehicle
env = FleetEnv(fleet="three", path="torus")                # PettingZoo (parallel), one agent per vehicle
envs = gymnasium.make_vec("shoal/Vehicle-v0", num_envs=16)  # after `import shoal.envs`
"""

from __future__ import annotations

import gymnasium

from shoal.envs.episode import EnvSettings
from shoal.envs.fleet_env import FleetEnv
from shoal.envs.vehicle_env import VehicleEnv

__all__ = ["EnvSettings", "FleetEnv", "VehicleEnv"]

if "shoal/Vehicle-v0" not in gymnasium.registry:
    gymnasium.register("shoal/Vehicle-v0", entry_point="shoal.envs:VehicleEnv")
