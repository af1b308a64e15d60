"""The motors that drive a run."""
