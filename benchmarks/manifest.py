"""Reading a whole tree into a manifest: 10,000 and 100,000 files.

Limits: 10,000 files (55 MB) in under 0.4 seconds, 100,000 in under 4; no more than twice what a
bare loop needs that opens, reads and hashes the same files and keeps nothing but the hashes; the
cost per file is flat (within 1.5 times); memory grows by less than 120 MB for 100,000 entries.

A tree that is known is not read: that costs no more than 1.6 times a bare walk that asks for the
times of each file by descriptor, which is the floor; goal for 100,000 files: 0.25 seconds. The same
in another process, which loads what is known, is measured beside it; so is a walk by paths, as git
does it.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial

from benchmarks.measure import outcome, record, side_by_side
from planbound.workspace.known import KnownFiles
from planbound.workspace.manifest import Manifest
from planbound.workspace.scan import FOLDER, scan
from planbound.workspace.stamps import WINDOW

SIZES = {10_000: 5_500, 100_000: 2_500}
"""How many files, and how many bytes each has on average."""
SECONDS = {10_000: 0.4, 100_000: 4.0}
TIMES_BARE = 2.0
FLAT = 1.5
TIMES_FLOOR = 1.6
GROWTH_MEGABYTES = 120.0
AGAIN = 0.250
"""The goal for an unchanged tree of 100,000 files, in seconds."""


def main() -> int:
    """Measure, print, record; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--growth", metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    gc.disable()  # as the program does
    if arguments.growth:
        print(growth(arguments.growth))
        return 0
    values: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for count, size in SIZES.items():
            root = os.path.join(folder, str(count))
            generate(root, count, size)
            os.sync()  # or the disk is still busy with what was written
            time.sleep(WINDOW / 10**9 + 0.1)  # what is younger is not known
            file = os.path.join(folder, f"known-{count}")
            known = KnownFiles(file)
            scan(root, known=known)
            contestants: dict[str, Callable[[], object]] = {
                f"manifest {count}": partial(scan, root),
                f"manifest again {count}": partial(scan, root, known=known),
                f"manifest in another process {count}": partial(in_another_process, root, file),
                f"walk and stat by descriptor {count}": partial(walk_by_descriptor, root),
                f"read and hash {count}": partial(read_and_hash, root),
                f"walk and stat {count}": partial(walk_and_stat, root),
            }
            values |= side_by_side(contestants, arguments.rounds)
        command = [sys.executable, "-m", "benchmarks.manifest", "--growth", root]
        told = subprocess.run(command, check=True, capture_output=True, text=True)
        values["growth MB"] = float(told.stdout)
    record("manifest", values)
    return report(values)


def generate(root: str, count: int, size: int) -> None:
    """Write files of random sizes and contents, fifty to a directory."""
    chance = random.Random(1)
    for number in range(count):
        folder = f"{root}/part{number // 1000}/unit{number // 50 % 20}"
        if number % 50 == 0:
            os.makedirs(folder)
        with open(f"{folder}/module_{number}.py", "wb") as file:
            file.write(chance.randbytes(chance.randrange(2 * size)))


def read_and_hash(root: str) -> int:
    """Hash every file, the bare way."""
    hashes = []
    for folder, _, names in os.walk(root):
        for name in names:
            with open(f"{folder}/{name}", "rb", buffering=0) as file:
                hashes.append(hashlib.sha256(file.read()).digest())
    return len(hashes)


def walk_and_stat(root: str) -> int:
    """Ask for the times of every file."""
    times = 0
    for folder, _, names in os.walk(root):
        for name in names:
            times += os.lstat(f"{folder}/{name}").st_mtime_ns & 1
    return times


def walk_by_descriptor(root: str) -> int:
    """Ask for the times of every file as a walk does that cannot be led astray."""
    times = 0
    below = [os.open(root, FOLDER)]
    while below:
        folder = below.pop()
        with os.scandir(folder) as found:
            for each in found:
                if each.is_dir(follow_symlinks=False):
                    below.append(os.open(each.name, FOLDER, dir_fd=folder))
                else:
                    times += each.stat(follow_symlinks=False).st_mtime_ns & 1
        os.close(folder)
    return times


def in_another_process(root: str, file: str) -> Manifest:
    """Read a tree with no more than what is kept of it."""
    return scan(root, known=KnownFiles(file))


def growth(root: str) -> float:
    """Return by how many megabytes a fresh process grows that keeps one manifest."""
    scan(os.path.dirname(os.path.abspath(__file__)))  # everything is imported
    before = peak()
    found = scan(root)
    assert found.truncated is None
    return peak() - before


def peak() -> float:
    """Return the most memory that this process ever had, in megabytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


def report(values: dict[str, float]) -> int:
    """Print the numbers and what is over its limit."""
    for name, value in values.items():
        if not name.endswith("MB"):
            count = int(name.split()[-1])
            print(f"{name:34} {value * 1000:9.1f} ms   {value / count * 1e6:6.1f} µs a file")
    checks: dict[str, tuple[float, float]] = {}
    for count, limit in SECONDS.items():
        mine = values[f"manifest {count}"]
        checks[f"{count:,} files in seconds"] = (mine, limit)
        checks[f"{count:,} files against read and hash"] = (
            mine / values[f"read and hash {count}"],
            TIMES_BARE,
        )
        checks[f"{count:,} known files against a bare walk"] = (
            values[f"manifest again {count}"] / values[f"walk and stat by descriptor {count}"],
            TIMES_FLOOR,
        )
    per_file = values["manifest 100000"] / 10 / values["manifest 10000"]
    checks["cost per file (100,000 against 10,000)"] = (per_file, FLAT)
    checks["growth for 100,000 entries in MB"] = (values["growth MB"], GROWTH_MEGABYTES)
    again = values["manifest again 100000"]
    told = f"goal {AGAIN * 1000:g} ms, {outcome(again, AGAIN)}"
    print(f"100,000 files, unchanged: {again * 1000:.0f} ms ({told})")
    for name, (value, limit) in checks.items():
        print(f"{name:44} {value:6.2f} (limit {limit}){'  OVER' if value > limit else ''}")
    return 1 if any(value > limit for value, limit in checks.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
