"""What `make check` and `make docs` run on the repository itself."""
