"""Git, as the harness runs it: with a configuration of its own, and without anybody's hooks."""
