"""Autopilot node, one per vehicle, and the ways in which a pilot reaches it: pad, keyboard, CSV file, WebSocket."""
