"""Judging, decided: what an outcome means, and how well it is founded (pure)."""
