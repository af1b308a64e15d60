"""What the journal says of a plan: one fold."""
