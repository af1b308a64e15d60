"""What a model is told so that it writes a plan, and what is made of its answer (pure)."""
