"""Run an approved plan: the loop that asks `decide`, acts, and records."""
