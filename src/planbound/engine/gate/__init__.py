"""The gate, decided: what people say about a plan that waits, as data (pure)."""
