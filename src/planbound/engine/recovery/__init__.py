"""Recovery, decided: what kind of failure it is, and what is done about it (pure)."""
