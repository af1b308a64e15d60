"""The loop of a run as an interpreter: what the journal says, and what is next."""
