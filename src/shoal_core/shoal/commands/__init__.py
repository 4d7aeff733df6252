"""One module per command of `shoal`; each has `register(app)` and imports what is heavy inside its functions."""
