"""An agent in the loop: tools, gate, hooks, MCP."""
