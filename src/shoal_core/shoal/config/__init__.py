"""Finding, reading, checking and writing files."""
