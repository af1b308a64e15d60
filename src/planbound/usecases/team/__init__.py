"""Several workers on one repository."""
