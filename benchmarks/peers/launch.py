"""Starts a program, and writes how long it took and the most memory that one process had.

A process of its own, and a small one: `ru_maxrss` of a program begins with what the process had
that started it. So nothing below some 10 MB can be told apart.

Arguments: the file to write, then the command. Standard output and error are the caller's.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> int:
    """Run the command; return its exit code."""
    report, *command = sys.argv[1:]
    wall, start = time.time(), time.monotonic()
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    end = time.monotonic()
    values = {"wall": wall, "start": start, "end": end, "megabytes": usage.ru_maxrss / 1024}
    with open(report, "w", encoding="utf-8") as file:
        json.dump(values, file)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
