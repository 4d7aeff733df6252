"""How the core meets ROS 2: messages, frames, QoS profiles and the list of nodes of a fleet."""
