"""The station's parts. Each shows a FleetModel and asks a Link; none knows ROS."""
