"""Ends what commands without a cell left behind when the harness was killed."""

from __future__ import annotations

import os
import struct
import time

from planbound.shell.cell.inside import leftovers

NOTE = struct.Struct("QQQ")
"""Of one command: the numbers of its process and of the pipes that it writes to; 0: none."""
_PATIENCE = 5.0


def main(table: int) -> None:
    """End every command that is noted in a table, with all of its session."""
    sessions: set[int] = set()
    pipes: set[int] = set()
    data = os.pread(table, os.fstat(table).st_size, 0)
    for process, *held in NOTE.iter_unpack(data):
        sessions |= {process} - {0}
        pipes |= set(held) - {0}
    if not sessions and not pipes:
        return
    deadline = time.monotonic() + _PATIENCE
    while left := leftovers.of(sessions, pipes):
        leftovers.kill(left)
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)
