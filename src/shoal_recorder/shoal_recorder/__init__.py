"""Recordings: rosbag2 MCAP files of a fleet, and from a recording to metrics."""
