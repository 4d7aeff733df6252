"""Gazebo: models and worlds generated from the vehicle description, bridge rendered per vehicle, watchdog."""
