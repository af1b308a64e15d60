"""In the loop: an agent works by itself with a plan, and the harness has the last word."""
