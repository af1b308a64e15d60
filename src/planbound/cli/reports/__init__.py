"""One module per format of diagnostics."""
