"""The plan language: model, parser, edits, digest (pure)."""
