"""Others that run steps: each is a script for an environment of its own, started as a process."""
