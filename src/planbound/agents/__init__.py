"""Who works: one file per kind of agent."""
