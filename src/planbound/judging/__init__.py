"""How a step is judged: frozen, run, proved."""
