"""The edge to processes: the only package that starts any."""
