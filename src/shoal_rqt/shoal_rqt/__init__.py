"""Operator station, as an rqt plugin and as a window of its own."""
