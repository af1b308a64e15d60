"""Fold, decide, gate, recovery, budget, finalization (pure)."""
