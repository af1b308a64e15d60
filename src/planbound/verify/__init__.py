"""Static verification: one rule per file (pure)."""
