"""Public fakes: they pass the real parts' tests."""
