"""Several plans and workers in one repository."""
