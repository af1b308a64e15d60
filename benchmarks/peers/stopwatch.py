"""What every peer does in a step, and how it says when the first began and the last ended.

Scripts here run in foreign environments: they import the standard library, this module and the
peer, nothing else.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

AGENT = ("/bin/sh", "-c", "true")
CONTRACT = ("/bin/sh", "-c", "true")


class Stopwatch:
    """Counts steps, and knows when the first began and the last ended."""

    def __init__(self) -> None:
        self.steps = 0
        self.first = 0.0
        self.last = 0.0

    def step(self) -> None:
        """Do what a step is: one process as the agent, one as the contract."""
        if not self.steps:
            self.first = time.monotonic()
        subprocess.run(AGENT, check=True)
        subprocess.run(CONTRACT, check=True)
        self.steps += 1

    def stop(self) -> None:
        """Say that the work is done; everything about the last step is kept by now."""
        self.last = time.monotonic()

    def write(self, folder: str) -> None:
        """Write what was measured for the process that started this one."""
        values = {"steps": self.steps, "first": self.first, "last": self.last}
        Path(folder, "laps.json").write_text(json.dumps(values), encoding="utf-8")
