"""Our own small agent: a model that is given tools, whose loop runs in the harness."""
