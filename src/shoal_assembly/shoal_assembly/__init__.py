"""Vessels that join into platforms: the fleet manager, and the topics of the vessel-platform thesis."""
