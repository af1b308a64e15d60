"""Setting up agent hosts, and looking at whether they are."""
