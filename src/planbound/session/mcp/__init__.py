"""The plan tools over the Model Context Protocol."""
