"""What vehicles know of each other: odometry, plans, topology, links, and the agent."""
