"""Files, plans, configuration; the one `Context`."""
