"""ArduSub as a vehicle's autopilot: its mixer, how to reach its thrusters through six axes, its parameters."""
