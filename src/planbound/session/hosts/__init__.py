"""What is written into the settings of agent hosts, and taken out again."""
