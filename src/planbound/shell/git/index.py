"""The index of a worktree: whether it is one, and single paths of it put back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from planbound.shell.git.directory import TEMPORARY
from planbound.shell.git.program import Said

_HASHES = (("sha1", 20), ("sha256", 32))

Run = Callable[..., Said]
"""Runs git on the repository with another index: `run(index, *words, input=...)`."""


class Entry(NamedTuple):
    """What the index has at a path; several at once while a merge is not resolved."""

    mode: str
    id: str
    stage: str


def is_whole(path: str) -> bool:
    """Say whether a file is an index that nobody cut off or wrote into."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return False
    if data[:4] != b"DIRC" or len(data) < 32:
        return False
    return any(
        # Without a check sum where the configuration says so.
        data[-width:] in {hashlib.new(name, data[:-width]).digest(), bytes(width)}
        for name, width in _HASHES
    )


def count(path: str) -> int:
    """Return how many entries an index has."""
    try:
        with open(path, "rb") as file:
            return int.from_bytes(file.read(12)[8:], "big")
    except OSError:
        return 0


def entries(run: Run, index: str) -> dict[str, list[Entry]]:
    """Return what an index has, by path."""
    found: dict[str, list[Entry]] = {}
    said = run(index, "ls-files", "--stage", "-z")
    for line in said.lines if said.code == 0 else ():
        facts, _, path = line.partition("\t")
        mode, name, stage = facts.split(" ")
        found.setdefault(path, []).append(Entry(mode, name, stage))
    return found


def staged(run: Run, index: str, commit: str | None) -> dict[str, str]:
    """Return the paths at which an index is not as a commit, each with its mode and id there."""
    if commit is None:
        return {path: f"{of[0].mode} {of[0].id}" for path, of in entries(run, index).items()}
    said = run(index, "diff-index", "--cached", "--raw", "-z", "--no-renames", commit)
    lines = said.lines if said.code == 0 else []
    found = {}
    for facts, path in zip(lines[::2], lines[1::2], strict=False):
        _, mode, _, name, _ = facts.split(" ")
        found[path] = f"{mode} {name}"
    return found


def put_back(
    run: Run, index: str, wanted: Mapping[str, Iterable[Entry]], fresh: str, no_id: str
) -> bool:
    """Let an index have these entries at these paths, and no others there.

    `fresh` is a file beside nothing that matters: what is written is there first.
    """
    lines = []
    for path, of in wanted.items():
        name = os.fsencode(path)
        lines.append(b"0 %s\t%s\0" % (no_id.encode(), name))
        lines += [f"{each.mode} {each.id} {each.stage}\t".encode() + name + b"\0" for each in of]
    if os.path.exists(index):
        with open(index, "rb") as source, open(fresh, "wb") as target:
            target.write(source.read())
    said = run(fresh, "update-index", "-z", "--index-info", input=b"".join(lines))
    if said.code != 0:
        return False
    with open(fresh, "rb") as source:
        data = source.read()
    beside = os.path.join(os.path.dirname(index), TEMPORARY)
    with open(beside, "wb") as target:
        target.write(data)
    os.replace(beside, index)
    os.unlink(fresh)
    return True
