"""What travels between vehicles, guidance, plant and people."""
