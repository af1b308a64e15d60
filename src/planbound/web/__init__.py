"""Pages over the journal."""
