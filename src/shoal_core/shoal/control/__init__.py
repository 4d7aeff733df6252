"""The model predictive controller, its solver back ends and its fallbacks."""
