"""The lines that the client prints, and that the transcript reads."""

from __future__ import annotations

import json
import sys

KEY = "acp"
"""The field of a line that says what it tells of."""


def tell(what: str, /, **fields: object) -> None:
    """Print a line. What cannot be said in JSON is said in words."""
    line = json.dumps({KEY: what, **fields}, default=str)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
