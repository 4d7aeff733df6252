"""State and disturbance estimation."""
