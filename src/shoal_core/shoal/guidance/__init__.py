"""Paths, formations and setpoint previews."""
