"""Several workers in one repository: worktrees, claims, and what brings their work together."""
