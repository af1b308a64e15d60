"""The edge to the file tree that agents change."""
