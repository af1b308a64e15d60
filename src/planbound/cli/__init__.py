"""The command line: parse arguments, call one use case, render the result."""
