"""Vehicle dynamics node: the built-in plant of a whole fleet, which also owns /clock."""
