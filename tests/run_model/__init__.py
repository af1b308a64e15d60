"""A model of the run: arbitrary interleavings of agents, people, crashes and runners."""
