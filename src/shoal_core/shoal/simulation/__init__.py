"""Plant, sensors, environment and the lock-step fleet simulator."""
