"""What the use cases need from the world: Protocols of one to four methods."""
