"""The command line of `planbound-check-receipt.py`: what it asks of `ssh-keygen` and git."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from planbound.receipts.check import (
    CheckRules,
    Doors,
    check,
    holds,
    plain,
    required,
    shown_line,
)
from planbound.receipts.envelope import MOST_BYTES, ReceiptError

SECONDS = 60
CLEAN = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}


def run_keygen(words: Sequence[str], message: bytes, signature: str) -> tuple[int, str]:
    """Run ssh-keygen on a message and its signature."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "signature")
        with open(path, "w", encoding="ascii") as file:
            file.write(signature)
        command = ["ssh-keygen", *words, "-s", path]
        done = subprocess.run(
            command, input=message, capture_output=True, timeout=SECONDS, check=False, env=CLEAN
        )
    said = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace").strip()
    return done.returncode, said


def run_git(words: Sequence[str]) -> bytes | None:
    """Run git in the repository here; nothing that it names is run."""
    quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
    command = ["git", *quiet, *words]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, env=CLEAN)
    return done.stdout if done.returncode == 0 else None


def is_git_here(places: str) -> bool:
    """Say whether there is git, and a repository around this folder."""
    there = shutil.which("git", path=places) is not None
    return there and run_git(["rev-parse", "--git-dir"]) is not None


def read_file(path: str) -> bytes:
    """Return a file's content, up to a byte more than is allowed."""
    if path == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    with open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Return what the words of the command line say."""
    parser = argparse.ArgumentParser(description="Checks a receipt of planbound.")
    add = parser.add_argument
    add("file", metavar="FILE", help="the receipt; `-` is standard input")
    add("--signers", metavar="FILE", help="who may sign, as in `man ssh-keygen`")
    add("--revoked", metavar="FILE", help="keys that may not sign any more")
    add("--tree", metavar="REV", help="the revision whose files are to be those that were judged")
    add("--previous", metavar="FILE", help="an earlier receipt, which this one continues")
    add("--require", metavar="WORDS", default="", help="as E3,I2,signed,proof,no-waiver,proved")
    return parser.parse_args(argv)


def rules_of(given: argparse.Namespace) -> CheckRules:
    """Return what the receipt is held against."""
    for path in (given.signers, given.revoked):
        if path is not None and not os.path.isfile(path):
            raise ReceiptError(f"there is no file `{path}`")
    return CheckRules(
        signers=given.signers and os.path.abspath(given.signers),
        revoked=given.revoked and os.path.abspath(given.revoked),
        tree=given.tree,
        require=required(given.require),
        earlier=read_file(given.previous) if given.previous else None,
    )


def main(argv: Sequence[str]) -> int:
    """Check a receipt: 0 where all holds, 1 where something does not, 2 where it is none."""
    given = parsed(argv)
    places = CLEAN["PATH"]
    doors = Doors(
        keygen=run_keygen if shutil.which("ssh-keygen", path=places) else None,
        git=run_git if is_git_here(places) else None,
    )
    try:
        lines = check(read_file(given.file), doors, rules_of(given))
        for line in lines:
            print(shown_line(line))
    except (ReceiptError, OSError, subprocess.SubprocessError) as error:
        print(f"error: {plain(str(error))}", file=sys.stderr)
        return 2
    return 0 if holds(lines) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
