"""Pictures. Matplotlib without pyplot: no global state, no window, the same on every machine."""
