"""Conditions, campaigns, metrics, recordings and reports."""
