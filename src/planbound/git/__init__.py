"""Git, with none of the repository's hooks."""
