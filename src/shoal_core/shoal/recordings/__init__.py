"""Recordings: MCAP, rosbag2 and Parquet, written and read."""
