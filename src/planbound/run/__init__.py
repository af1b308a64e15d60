"""A run: what is next, attempts, recovery."""
