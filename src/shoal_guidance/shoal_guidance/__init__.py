"""Setpoint node: where the fleet shall be, ahead of time."""
