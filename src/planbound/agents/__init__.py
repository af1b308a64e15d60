"""The edge to agents: what a kind is, and what the kinds share."""
