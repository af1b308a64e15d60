"""Several workers on one repository: who has which worktree, and what was merged."""
