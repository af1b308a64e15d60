"""Answers to the hooks of agent hosts."""
