"""Gazebo: bridge configuration rendered per vehicle, and spawning."""
