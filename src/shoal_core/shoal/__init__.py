"""Shoal's ROS-free core: vehicles, estimation, guidance, control, fleets, simulation and experiments."""

__version__ = "0.1.0"
