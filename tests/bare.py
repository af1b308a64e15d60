"""Runs the suite as on a machine that has only what the README asks for.

`python -m tests.bare [ARGUMENT ...]` hides the programs that only some tests need, for pytest
and everything below it, and starts pytest with the arguments. They are hidden in a mount
namespace, for the product looks for bubblewrap by its path, and not only by `PATH`; making one
without becoming somebody else takes root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from planbound.cells import choose as bubblewrap

HIDDEN = (
    *("bwrap", "strace", "node", "npm", "npx", "ssh-keygen", "openssl", "psql", "docker"),
    *("cc", "gcc", "cmake", "ctest", "cargo", "rustc", "go", "zsh", "fish", "groff"),
    "chromium",
)
_HIDE = """
set -e
while [ "$1" != -- ]; do mount -t overlay overlay -o "lowerdir=$1:$2" "$2"; shift 2; done
shift
exec "$@"
"""


def places() -> dict[Path, set[str]]:
    """Return the folders that have hidden programs, with the names that are hidden there."""
    found: dict[Path, set[str]] = {}
    folders = [*os.environ["PATH"].split(os.pathsep), os.path.dirname(bubblewrap.PROGRAM)]
    for folder in folders:
        for name in HIDDEN:
            if os.path.lexists(os.path.join(folder, name)):
                found.setdefault(Path(folder).resolve(), set()).add(name)
    return found


def run(command: Sequence[str], hidden: dict[Path, set[str]]) -> int:
    """Run a command that does not see those names in those folders."""
    with tempfile.TemporaryDirectory(prefix="bare-") as covers:
        pairs: list[str] = []
        for number, (folder, names) in enumerate(hidden.items()):
            cover = Path(covers, str(number))
            cover.mkdir()
            for name in names:
                # An overlay takes such a device for the mark of a file that was removed.
                os.mknod(cover / name, 0o020000, os.makedev(0, 0))
            pairs += [str(cover), str(folder)]
        # Whoever is left out for a program is left out here on purpose.
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        words = ["unshare", "--mount", "/bin/sh", "-c", _HIDE, "sh", *pairs, "--", *command]
        return subprocess.run(words, env=environment, check=False).returncode


def seen(names: Iterable[str] = HIDDEN) -> list[str]:
    """Return those that can be started from here."""
    there = [name for name in names if shutil.which(name)]
    return [*there, *([bubblewrap.PROGRAM] if os.path.lexists(bubblewrap.PROGRAM) else [])]


def main() -> int:
    """Hide, look whether they are hidden, and start pytest."""
    if os.geteuid() != 0:
        print("tests.bare: only root can hide programs without becoming somebody else")
        return 2
    look = "import tests.bare, sys; sys.exit(' '.join(tests.bare.seen()) or 0)"
    hidden = places()
    if run([sys.executable, "-c", look], hidden):
        print("tests.bare: these could not be hidden")
        return 2
    return run([sys.executable, "-m", "pytest", *sys.argv[1:]], hidden)


if __name__ == "__main__":
    sys.exit(main())
