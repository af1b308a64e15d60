"""Agent hosts: what stands in their settings for us, and how it gets in and out again."""
