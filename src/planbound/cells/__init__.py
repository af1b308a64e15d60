"""Where agents and contracts run, kept apart."""
