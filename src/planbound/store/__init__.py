"""The edge to files and SQL that the harness itself writes."""
