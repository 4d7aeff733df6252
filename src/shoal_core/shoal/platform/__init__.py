"""Vessels that assemble themselves into platforms."""
