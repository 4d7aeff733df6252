"""Nonlinear model predictive control."""
