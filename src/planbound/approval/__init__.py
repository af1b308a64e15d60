"""The approval of a plan, for every face."""
