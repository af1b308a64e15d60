"""The files of a tree in a repository of their own, which leaves alone the one it comes from.

It has the other one's objects by reference, one commit, and a configuration of ours: no hook, no
filter and no other program is run, whatever the tree or the other repository says.
"""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

from planbound.errors import GitProblem
from planbound.git.program import Git, checked, plain_configuration
from planbound.git.repository import Repository

_NOBODY = {
    "GIT_AUTHOR_NAME": "Planbound",
    "GIT_AUTHOR_EMAIL": "planbound@localhost",
    "GIT_AUTHOR_DATE": "1970-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Planbound",
    "GIT_COMMITTER_EMAIL": "planbound@localhost",
    "GIT_COMMITTER_DATE": "1970-01-01T00:00:00Z",
}
_MAX_LINES = 1 << 20
_LONG = 64
"""So many digits has an id in a repository of SHA-256."""


class LaidTree(NamedTuple):
    """Where the files of a tree are."""

    path: str
    tree: str
    commit: str
    """What is checked out: the commit that was asked for, or one that was made of the tree."""
    submodules: tuple[str, ...]
    """Other repositories in it: their folders are empty."""


def lay_tree(
    repository: Repository, tree: str, path: str, *, commit: str | None, base: str | None
) -> LaidTree:
    """Lay the files of a tree out at a path where nothing is.

    `commit` is checked out where it is there and has this tree. Otherwise one is made, on top of
    `base` where that is there, so that contracts which ask git find a commit.
    """
    folder = os.path.join(path, ".git")
    try:
        _make_repository(repository.common, folder)
    except OSError as error:
        raise GitProblem(f"cannot lay a tree out at `{path}`: {error.strerror}") from error
    git = Git(folder, folder)
    head = _commit_with(git, tree, commit)
    if head is None:
        parent = _known_commit(git, base)
        words = ["commit-tree", "--no-gpg-sign", *(["-p", parent] if parent else []), tree]
        said = git.bare(*words, input=b"the tree that is judged again\n", more=_NOBODY)
        head = checked(said, "write a commit").text
    checked(git.bare("update-ref", "--no-deref", "HEAD", head), "set a HEAD")
    filled = git.within(path, folder, "read-tree", "-m", "-u", head)
    checked(filled, f"check `{tree[:12]}` out in `{path}`")
    return LaidTree(path, tree, head, tuple(repository.submodules(tree)))


def tree_without(repository: Repository, tree: str, name: str) -> str:
    """Return the id that a tree has without one of its names; nothing is written."""
    found = repository.entries(tree)
    kept = [entry for entry in found if entry.name != name]
    if len(kept) == len(found):
        return tree
    content = b"".join(
        b"%b %b\0%b"
        % (entry.mode.lstrip("0").encode(), os.fsencode(entry.name), bytes.fromhex(entry.id))
        for entry in kept
    )
    form = "sha256" if len(tree) == _LONG else "sha1"
    return hashlib.new(
        form, b"tree %d\0" % len(content) + content, usedforsecurity=False
    ).hexdigest()


def _make_repository(common: str, folder: str) -> None:
    os.makedirs(os.path.join(folder, "refs"), mode=0o700)
    os.makedirs(os.path.join(folder, "objects", "info"))
    _write(os.path.join(folder, "HEAD"), "ref: refs/heads/planbound\n")
    _write(os.path.join(folder, "config"), plain_configuration(common, bare=False))
    stores = [os.path.join(common, "objects")]
    stores += _lines(os.path.join(stores[0], "info", "alternates"), stores[0])
    alternates = os.path.join(folder, "objects", "info", "alternates")
    _write(alternates, "".join(f"{store}\n" for store in stores))
    # In a shallow clone the parents of some commits are not there, and git has to know it.
    shallow = _lines(os.path.join(common, "shallow"), None)
    if shallow:
        _write(os.path.join(folder, "shallow"), "".join(f"{line}\n" for line in shallow))


def _lines(path: str, folder: str | None) -> list[str]:
    """Return the lines of a file of git's; as paths seen from a folder, where one is given."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(_MAX_LINES).split("\n")
    except OSError:
        return []
    found = [line for line in lines if line and not line.startswith("#")]
    return found if folder is None else [os.path.join(folder, line) for line in found]


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def _known_commit(git: Git, name: str | None) -> str | None:
    if name is None:
        return None
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    said = git.bare(*words)
    return said.text if said.code == 0 else None


def _commit_with(git: Git, tree: str, name: str | None) -> str | None:
    """Return a commit, where it is there and its tree is this one."""
    commit = _known_commit(git, name)
    if commit is None:
        return None
    said = git.bare("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
    return commit if said.code == 0 and said.text == tree else None
