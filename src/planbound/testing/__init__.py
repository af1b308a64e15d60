"""Public fakes: they pass the same tests as the real parts."""
