"""The edge to agents: one kind per file."""
