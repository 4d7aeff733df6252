"""How fast things are. Each module has `run(quick) -> Result`; `shoal bench` finds them in its table."""
