"""The floor: a loop over the same processes that remembers nothing."""

from __future__ import annotations

import sys

from benchmarks.peers.stopwatch import Stopwatch


def main(steps: int, folder: str) -> None:
    """Run the steps."""
    watch = Stopwatch()
    for _ in range(steps):
        watch.step()
    watch.stop()
    watch.write(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
