"""What runs inside a cell's own processes: only the standard library, imported before the walls."""
