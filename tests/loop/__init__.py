"""An agent in the loop: its tools, and the gate that has the last word."""
