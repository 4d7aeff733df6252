"""Pages, tables, pictures and replay."""
