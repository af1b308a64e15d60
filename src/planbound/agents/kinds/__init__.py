"""The kinds of agents: one file each, found by its name.

A file here has a `KIND` (see `planbound.agents.kind`). Nothing else knows of it.
"""
