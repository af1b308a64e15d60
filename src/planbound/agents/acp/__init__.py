"""The Agent Client Protocol: a client that runs in the agent's cell, and what reads its lines.

`client` is the process that is launched. It starts the agent and tells what happens, one object of
JSON a line; `transcript` reads them in the harness. Only `client` and `callbacks` know the
protocol's package.
"""
