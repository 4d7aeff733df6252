"""Controllers of published systems, for comparison only."""
