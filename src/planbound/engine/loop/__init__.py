"""In the loop, decided: where an agent's own plan is, and whether it may say that it is done."""
