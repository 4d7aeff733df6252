"""Controller node, one per vehicle: predictive control with the plans of its neighbours."""
