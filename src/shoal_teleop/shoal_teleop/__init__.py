"""Joystick bridge: from a game controller to fleet commands."""
