"""What the harness fills in for a run."""

DEPTH = 0
"""How many folders the module lies below the workspace root."""
PLACE = ""
"""The folder of the notes, seen from the workspace root."""
JUDGES: list[str] = []
MOST = 0
"""So many processes are written down."""
HOOK = ""
"""What the module is called."""
PLUGIN = ""
"""What the plugin of pytest is called."""
TESTS: dict[str, list[int]] = {}
"""By judge the lines of the tests that surely run, and have to fail once."""
RETOLD: dict[str, dict[str, dict[str, object]]] = {}
"""By judge what was changed in its text; empty: values are changed in the loaded judges."""
