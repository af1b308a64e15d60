"""Events, their codec and their chain (pure)."""
